// What a step needs of the device's memory.
#include "models/memory.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"

#include <cmath>
#include <string>

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
  // Unfused: 12 + 10 for the products' inputs, among them the softmax's result; fused: 12 + 6 + 6.
  EXPECT_EQ(training_memory(kAttention, device(), 1, {}).activations, Bytes{4 * (12 + 10 + 6 + 6)});
  EXPECT_EQ(training_memory(kAttention, device(true), 1, {}).activations,
            Bytes{4 * (12 + 6 + 6 + 6 + 6)});
}

TEST(TrainingMemory, OfMixedPrecisionNormsIsWide) {
  EXPECT_EQ(training_memory(kAttention, device(), 1, {.precision = "bfloat16"}).activations,
            Bytes{2 * (12 + 10 + 6) + 4 * 6});
}

}  // namespace
}  // namespace steptime
