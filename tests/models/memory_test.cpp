// What a step needs of the device's memory.
#include "models/memory.h"

#include "models/transformer_work.h"
#include "tests/support/simulated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Device device(bool fuses_attention = false) {
  Device device{.name = "x", .precisions = {{"float32", {}}, {"bfloat16", {}}}};
  device.fuses_attention = fuses_attention;
  device.memory = Bytes{1'000'000'000};
  return device;
}

LayerTable table(std::vector<TableLayer> layers, bool has_sequences = false) {
  LayerTable table{.name = "x", .input = 10};
  table.has_sequences = has_sequences;
  table.layers = std::move(layers);
  return table;
}

// Values per sample, by the table at the head of models/memory.cpp: 10 + 20 + 0 + 20 + 5 = 55 of
// the precision, 5 positions of 8 bytes and a mask of 5 bytes; the loss 3 + 2 x 3 values.
const LayerTable kTable = table({{"conv", LayerKind::kConvolution, 100, 10, 20, {{"w", 7}}},
                                 {"bn", LayerKind::kBatchNorm, 0, 20, 20, {{"g", 2}, {"b", 1}}},
                                 {"relu", LayerKind::kActivation, 0, 20, 20},
                                 {"pool", LayerKind::kPooling, 0, 20, 5},
                                 {"dropout", LayerKind::kDropout, 0, 5, 5},
                                 {"fc", LayerKind::kFullyConnected, 15, 5, 3, {{"w", 15}}},
                                 {"loss", LayerKind::kSoftmax, 0, 3, 3}});

TEST(TrainingMemory, IsWhatLayersKeep) {
  const TrainingMemory memory = training_memory(kTable, device(), 8, {});
  EXPECT_EQ(memory.weights, Bytes{4 * 25});
  EXPECT_EQ(memory.gradients, Bytes{4 * 25});
  EXPECT_EQ(memory.optimizer, Bytes{4 * 25});  // the momentum
  EXPECT_EQ(memory.activations, Bytes{8 * (4 * 55 + 8 * 5 + 5 + 4 * 9)});
  EXPECT_EQ(memory.total(), memory.weights + memory.gradients + memory.optimizer +
                                memory.activations + memory.context);
  EXPECT_EQ(memory.device, Bytes{1'000'000'000});
}

TEST(TrainingMemory, InMixedPrecisionKeepsACopyOfTheWeights) {
  const TrainingMemory memory = training_memory(
      kTable, device(), 8, {.precision = "bfloat16", .optimizer = optimizer_named("adam")});
  EXPECT_EQ(memory.weights, Bytes{(4 + 2) * 25});
  EXPECT_EQ(memory.gradients, Bytes{4 * 25});
  EXPECT_EQ(memory.optimizer, Bytes{2 * 4 * 25});
  EXPECT_EQ(memory.activations, Bytes{8 * (2 * 55 + 8 * 5 + 5 + 2 * 9)});
}

// Queries and keys 6 values each, values 6, weights 4, result 6.
const LayerTable kAttention = table({{"scores", LayerKind::kMatrixProduct, 24, 12, 4},
                                     {"softmax", LayerKind::kSoftmax, 0, 4, 4},
                                     {"context", LayerKind::kMatrixProduct, 24, 10, 6},
                                     {"gelu", LayerKind::kActivation, 0, 6, 6},
                                     {"norm", LayerKind::kLayerNorm, 0, 6, 6}},
                                    true);

TEST(TrainingMemory, OfFusedAttentionHasNoWeightsOfPairs) {
  // Unfused: 12 + 10 for the products' inputs, among them the softmax's result; fused: 12 + 6, and
  // of 24 / 6 = 4 tokens 4 / 4 = 1 sum of a softmax.
  EXPECT_EQ(training_memory(kAttention, device(), 1, {}).activations, Bytes{4 * (12 + 10 + 6 + 6)});
  EXPECT_EQ(training_memory(kAttention, device(true), 1, {}).activations,
            Bytes{4 * (12 + 6 + 1 + 6 + 6)});
}

TEST(TrainingMemory, OfMixedPrecisionNormsIsWide) {
  EXPECT_EQ(training_memory(kAttention, device(), 1, {.precision = "bfloat16"}).activations,
            Bytes{2 * (12 + 10 + 6) + 4 * 6});
}

/// Values of a token that one block of a model keeps in float32, by its layer table.
double values_of_block(const char* model, const char* block, bool fuses_attention) {
  LayerTable table = read_layer_table(find_layer_table(model), 512);
  std::erase_if(table.layers, [block](const TableLayer& layer) {
    return layer.name.find(block) == std::string::npos;
  });
  const Bytes bytes = training_memory(table, device(fuses_attention), 2, {}).activations;
  return static_cast<double>(bytes.count) / (4 * 2 * 512);
}
/// The same by its shape.
double values_of_shape(const char* model, bool fuses_attention) {
  const LayerMemory memory = layer_memory(
      read_transformer(find_transformer(model)), {.samples = 2, .sequence = 512}, 4,
      {.attention = fuses_attention ? AttentionKernel::kFused : AttentionKernel::kUnfused});
  return static_cast<double>(memory.whole().count) / (4 * 2 * 512);
}

// In float32 both count a block's operators alike, those that read one input its values once. In
// mixed precision the table has float32 norms and softmax, as autocast does, and the shape has not.
TEST(TrainingMemory, OfABlockIsWhatItsShapeKeeps) {
  for (const bool fuses_attention : {false, true}) {
    EXPECT_DOUBLE_EQ(values_of_block("gpt2-xl", ".h.0.", fuses_attention),
                     values_of_shape("gpt2-xl", fuses_attention));
    EXPECT_DOUBLE_EQ(values_of_block("llama-2-7b", ".layers.0.", fuses_attention),
                     values_of_shape("llama-2-7b", fuses_attention));
  }
}

// Of its input; 5 positions of a pooling are its own, and an addition keeps what it says it does.
TEST(TrainingMemory, ALayerKeepsOfItsInputWhatTheTableSays) {
  const auto bytes = [](LayerKind kind, std::optional<std::int64_t> keeps) {
    const LayerTable one = table({{"x", kind, 100, 10, 5, {}, keeps}});
    return training_memory(one, device(), 1, {}).activations.count;
  };
  EXPECT_EQ(bytes(LayerKind::kFullyConnected, {}), 4 * 10);
  EXPECT_EQ(bytes(LayerKind::kFullyConnected, 3), 4 * 3);
  EXPECT_EQ(bytes(LayerKind::kFullyConnected, 0), 0);
  EXPECT_EQ(bytes(LayerKind::kPooling, 0), 8 * 5);
  EXPECT_EQ(bytes(LayerKind::kAdd, {}), 0);
  EXPECT_EQ(bytes(LayerKind::kAdd, 5), 4 * 5);
  EXPECT_EQ(bytes(LayerKind::kActivation, {}), 0);
  EXPECT_EQ(bytes(LayerKind::kActivation, 2), 4 * 2);
}

/// memory_bytes of a GPU that trains a model with Adam, a sample at a time.
double memory_bytes(const char* model, std::int64_t tokens, const char* precision, bool by_shape) {
  const TinyFolder folder;
  Json patch{{"workload",
              {{"trace", nullptr},
               {"model", model},
               {"device", "a100"},
               {"batch", 1},
               {"sequence", tokens},
               {"precision", precision},
               {"optimizer", "adam"}}},
             {"cluster", {{"nodes", 1}}}};
  if (by_shape) patch["strategy"] = {{"layout", Json::object()}};
  const Result result = simulate(tiny_experiment(folder, patch.dump()));
  return static_cast<double>(result.memory.value().total().count);
}

// A layer table and the shape of the same model, in a layout of ones, need the same but for
//   8 B of each token: its number, which the shape's embedding keeps;
//   logits: PyTorch's loss keeps three values of 4 B of each, itself, its logarithm and the first
//     gradient; Megatron's is made in place, so that a shape keeps the value in the precision, in
//     mixed precision a float32 copy, and the gradient of 4 B: 4 + 4 in float32, 2 + 4 + 4 else;
//   norms: under autocast their inputs are float32, 2 B more than the precision's, of two norms of
//     each of L layers and the last one; so is the result of a softmax that a dropout follows, for
//     each pair of tokens and head.
TEST(TrainingMemory, OfATableIsThatOfItsShapeInALayoutOfOnes) {
  struct Model {
    const char* name;
    std::int64_t tokens;
    double hidden;
    double layers;
    double vocabulary;
    double softmaxes;  ///< which a dropout follows
  };
  for (const Model& model : {Model{"llama-2-7b", 2048, 4096, 32, 32'000, 0},
                             {"llama-2-7b", 512, 4096, 32, 32'000, 0},
                             {"gpt2-xl", 1024, 1600, 48, 50'257, 48 * 25}}) {
    const auto tokens = static_cast<double>(model.tokens);
    const auto more = [&](const char* precision) {
      return memory_bytes(model.name, model.tokens, precision, false) -
             memory_bytes(model.name, model.tokens, precision, true);
    };
    EXPECT_EQ(more("float32"), tokens * ((12 - 8) * model.vocabulary - 8)) << model.name;
    EXPECT_EQ(more("bfloat16"),
              tokens * ((12 - 10) * model.vocabulary - 8 +
                        2 * (2 * model.layers + 1) * model.hidden + 2 * model.softmaxes * tokens))
        << model.name;
  }
}

// A BERT-Large classifier on 512 tokens with AdamW, V100, nvidia-smi's MiB, of which 1,343 are
// those of an empty context: huggingface/transformers@0f9f5ce docs/source/en/performance.mdx
// (Apache-2.0). The least that is needed is less, by what libraries and the allocator take, but not
// by much.
TEST(TrainingMemory, IsLittleLessThanPublishedPeaks) {
  struct Peak {
    std::int64_t batch;
    const char* precision;
    double mib;
  };
  const LayerTable bert = read_layer_table(find_layer_table("bert-large"), 512);
  Device v100 = device();
  v100.precisions["float16"] = {};
  for (const Peak& peak :
       {Peak{4, "float32", 14'949}, {1, "float32", 8'681}, {4, "float16", 13'939}}) {
    const TrainingMemory memory =
        training_memory(bert, v100, peak.batch,
                        {.precision = peak.precision, .optimizer = optimizer_named("adamw")});
    const double mib =
        static_cast<double>((memory.total() - memory.context).count) / (1 << 20) + 1'343;
    EXPECT_GT(peak.mib, mib * 1.03) << peak.precision << peak.batch;
    EXPECT_LT(peak.mib, mib * 1.13) << peak.precision << peak.batch;
  }
}

}  // namespace
}  // namespace steptime
