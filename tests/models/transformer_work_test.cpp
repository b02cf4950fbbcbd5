// Is a layer's work that of its operators, and does it keep what the published formulas say?
//
// The device of these tests: 2e12 flop/s at half efficiency, so 1e12 flop/s; 100 GB/s at half, so
// 25e9 values of 2 bytes per second. A launch takes no time unless said.
#include "models/transformer_work.h"

#include "models/layer_table.h"
#include "sim/config/json.h"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::string kRows = STEPTIME_TESTS_DIR "/models/transformer_memory.json";

Device round_device(bool fuses_attention) {
  return {.name = "round",
          .precisions = {{"float16", {.flops = 2e12, .gemm_efficiency = 0.5}}},
          .memory_bandwidth = {100e9},
          .memory_efficiency = 0.5,
          .fuses_attention = fuses_attention};
}

/// Bound by memory: products take no time.
Device slow_memory(bool fuses_attention) {
  Device device = round_device(fuses_attention);
  device.precisions.at("float16").flops = 2e21;
  return device;
}

/// Bound by products: memory takes no time.
Device fast_memory(bool fuses_attention) {
  Device device = round_device(fuses_attention);
  device.memory_bandwidth = {1e20};
  return device;
}

const Training kHalf{
    .precision = "float16", .weight_bytes = 2, .optimizer = optimizer_named("adam")};
const Training kMixed{
    .precision = "float16", .weight_bytes = 4, .optimizer = optimizer_named("adam")};

/// Sizes are whole tiles of 64 for up to two tensor ranks. h = 512; a = 8 heads of e = 64, k = 2 of
/// keys, so a e = 512 and k e = 128; f = 1024.
TransformerShape gated_shape() {
  return {.name = "gated",
          .layers = 3,
          .hidden = 512,
          .heads = 8,
          .kv_heads = 2,
          .head_dim = 64,
          .ffn = 1024,
          .gated = true,
          .vocabulary = 2048,
          .norms = Norm::kRms};
}

/// k = a, f = 4h.
TransformerShape gpt_shape() {
  return {.name = "gpt",
          .layers = 3,
          .hidden = 512,
          .heads = 8,
          .kv_heads = 8,
          .head_dim = 64,
          .ffn = 2048,
          .vocabulary = 2048,
          .tied = true,
          .biases = true,
          .dropout = true,
          .positions = 256};
}

constexpr ShapeCut kWhole{.samples = 4, .sequence = 250};  // T = 1000 tokens

TransformerShape shipped(const std::string& name) {
  return read_transformer(find_transformer(name));
}

// With the software that a device's file says.
PassWork layer_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                    const Training& training) {
  return steptime::layer_work(shape, cut, device, training, usual_software(device));
}
PassWork embedding_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                        const Training& training) {
  return steptime::embedding_work(shape, cut, device, training, usual_software(device));
}
PassWork head_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                   const Training& training) {
  return steptime::head_work(shape, cut, device, training, usual_software(device));
}
Duration attention_core_forward(const TransformerShape& shape, const ShapeCut& cut,
                                const Device& device, const Training& training) {
  return steptime::attention_core_forward(shape, cut, device, training, usual_software(device));
}

void expect_us(Duration time, double microseconds) {
  EXPECT_NEAR(to_seconds(time) * 1e6, microseconds, 1e-4);
}

// Products: q, k, v 512 x 768, o 512 x 512, gate and up 512 x 2048, down 1024 x 512: 2,228,224
// multiply-accumulates a token, 4456.448 us for 1000 tokens at 1e12 flop/s. Attention: 4 x 250 x
// 512 flop a token, 512 us; backward 2.5 times that when fused, since the scores are made again.
TEST(TransformerWork, ProductsTakeTheirOperations) {
  const PassWork fused = layer_work(gated_shape(), kWhole, fast_memory(true), kHalf);
  expect_us(fused.forward, 4456.448 + 512);
  expect_us(fused.input_gradient, 4456.448 + 2.5 * 512);
  expect_us(fused.weight_gradient, 4456.448);
  EXPECT_EQ(fused.backward(), fused.input_gradient + fused.weight_gradient);
  const PassWork whole = layer_work(gated_shape(), kWhole, fast_memory(false), kHalf);
  expect_us(whole.forward, 4456.448 + 512);
  expect_us(whole.input_gradient, 4456.448 + 2 * 512);
}

// Half of each product for one of two ranks, and half of the tokens for one of two.
TEST(TransformerWork, RanksShareProducts) {
  const Device device = fast_memory(true);
  ShapeCut cut = kWhole;
  cut.tensor = 2;
  expect_us(layer_work(gated_shape(), cut, device, kHalf).forward, (4456.448 + 512) / 2);
  cut.context = 2;
  expect_us(layer_work(gated_shape(), cut, device, kHalf).forward, (4456.448 + 512) / 4);
}

// Values of a token, 0.04 us each for 1000 tokens:
//   products    512 + 768, 512 + 512, 512 + 2048, 1024 + 512               6400
//   attention   2 x (512 + 128)                                            1280
//   norms 2 x 2 x 512, residuals 2 x 3 x 512, rotary 2 x (512 + 128), gate 3 x 1024
//                                                       2048 + 3072 + 1280 + 3072 = 9472
// and 2,228,224 weights once per pass, 89.12896 us; backward 1.7 of the last line, 2 of attention.
TEST(TransformerWork, MovesTheValuesOfItsOperators) {
  const PassWork work = layer_work(gated_shape(), kWhole, slow_memory(true), kHalf);
  expect_us(work.forward, 0.04 * (6400 + 1280 + 9472) + 89.12896);
  expect_us(work.input_gradient, 0.04 * (6400 + 2 * 1280 + 1.7 * 9472) + 89.12896);
  expect_us(work.weight_gradient, 0.04 * 6400 + 89.12896);
  // In mixed precision 4 bytes are read and 4 written of each weight's gradient.
  const PassWork mixed = layer_work(gated_shape(), kWhole, slow_memory(true), kMixed);
  EXPECT_EQ(mixed.forward, work.forward);
  expect_us(mixed.weight_gradient, 0.04 * 6400 + 4 * 89.12896);
}

// Outside of the products' blocks: norms and residuals, 5120 values a token.
TEST(TransformerWork, SequenceParallelismSplitsNormsAndResiduals) {
  ShapeCut cut = kWhole;
  cut.tensor = 2;
  const Device device = slow_memory(true);
  const PassWork without = layer_work(gated_shape(), cut, device, kHalf);
  cut.sequence_parallel = true;
  const PassWork with = layer_work(gated_shape(), cut, device, kHalf);
  expect_us(without.forward - with.forward, 0.04 * 5120 / 2);
  expect_us(without.input_gradient - with.input_gradient, 1.7 * 0.04 * 5120 / 2);
  EXPECT_EQ(without.weight_gradient, with.weight_gradient);
}

/// With rates of transformers on 16 multiprocessors: of peaks of 2e12 and 4e12 flop/s half each.
Device with_rates(Device device) {
  device.multiprocessors = 16;
  const double peak = device.precisions.at("float16").flops;
  device.transformers["float16"] = {.flops = peak,
                                    .gemm_efficiency = 0.5,
                                    .gemm_half_size = 512,
                                    .attention_efficiency = 0.25,
                                    .unfused_traffic = 2};
  device.transformers["float8"] = {.flops = 2 * peak, .gemm_efficiency = 0.5};
  return device;
}

// 1000 tokens are 8 rows of tiles. Of 256 columns 768 outputs are 3: 24 tiles take two rounds of
// 16, 3/4 full; 512 and 2048 outputs fill theirs. 512 summed values reach half of the share, 1024
// two thirds: 786.432 / (1/2 x 3/4) + 524.288 / (1/2) + 2097.152 / (1/2) + 1048.576 / (2/3) us at
// 1e12 flop/s. Half of the core, 256e6 flop, at 0.5e12 flop/s: 512 us.
TEST(TransformerWork, RatesOfTransformersKnowWavesAndSummedValues) {
  Device device = fast_memory(true);
  device.precisions.at("float16").flops = 2e12;
  device = with_rates(device);
  expect_us(layer_work(gated_shape(), kWhole, device, kHalf).forward,
            2097.152 + 1048.576 + 4194.304 + 1572.864 + 512);
  // In 8 bits at 2e12 flop/s, whatever the summed values; attention stays.
  const Software narrow{.products = "float8"};
  expect_us(steptime::layer_work(gated_shape(), kWhole, device, kHalf, narrow).forward,
            524.288 + 262.144 + 1048.576 + 524.288 + 512);
  const Software first{.attention = AttentionKernel::kFirstFused};
  expect_us(steptime::attention_core_forward(gated_shape(), kWhole, device, kHalf, first),
            1.7 * 512);
}

// Inputs of the forward products 512 + 512 + 512 + 1024, of the gradients' 768 + 512 + 2048 + 512,
// two values of two bytes moved for each. Eager kernels move their values twice.
TEST(TransformerWork, CastsAndEagerKernelsMoveMore) {
  const Device device = with_rates(slow_memory(true));
  const PassWork usual = layer_work(gated_shape(), kWhole, device, kHalf);
  const PassWork narrow =
      steptime::layer_work(gated_shape(), kWhole, device, kHalf, {.products = "float8"});
  expect_us(narrow.forward - usual.forward, 0.04 * 2 * 2560);
  expect_us(narrow.input_gradient - usual.input_gradient, 0.04 * 2 * 3840);
  const PassWork eager =
      steptime::layer_work(gated_shape(), kWhole, device, kHalf, {.fuses_operators = false});
  expect_us(eager.forward - usual.forward, 0.04 * 9472);
  expect_us(eager.input_gradient - usual.input_gradient, 1.7 * 0.04 * 9472);
}

// Two norms, four products, rotary positions, attention, gate and two residuals: 11 kernels.
TEST(TransformerWork, APassTakesAsLongAsItsHost) {
  const PassWork work = steptime::layer_work(gated_shape(), kWhole, fast_memory(true), kHalf,
                                             {.host_per_kernel = from_seconds(1)});
  EXPECT_EQ(work.forward, from_seconds(11));
  EXPECT_EQ(work.input_gradient, from_seconds(11));
  EXPECT_EQ(work.weight_gradient, from_seconds(4));
}

// A fused loss makes no copies in float32.
TEST(TransformerWork, AFusedLossMovesLogitsOnce) {
  const Device device = slow_memory(true);
  const PassWork copies = head_work(gpt_shape(), kWhole, device, kMixed);
  const PassWork fused =
      steptime::head_work(gpt_shape(), kWhole, device, kMixed, {.fuses_loss = true});
  expect_us(copies.forward - fused.forward, 0.04 * 3 * 4096);
}

// Unfused with dropout: 8 x 250 scores a token are moved 6.5 times (both products once, softmax
// twice, dropout twice and its mask), queries and keys twice, values and result twice: (13,000 + 2
// x 1024) values. Without dropout 4 times. Fused: 4 x 512.
TEST(TransformerWork, SelectiveRecomputationDoesTheCoreAgain) {
  TransformerShape shape = gpt_shape();
  const auto core = [&](bool fuses) {
    return attention_core_forward(shape, kWhole, slow_memory(fuses), kHalf);
  };
  expect_us(core(false), 0.04 * (13'000 + 2048));
  expect_us(core(true), 0.04 * 2048);
  shape.dropout = false;
  expect_us(core(false), 0.04 * (8000 + 2048));
  shape.dropout = true;
  Device device = slow_memory(false);
  const Duration idle = attention_core_forward(shape, kWhole, device, kHalf);
  device.kernel_overhead = from_seconds(10e-6);
  EXPECT_EQ(attention_core_forward(shape, kWhole, device, kHalf) - idle, from_seconds(40e-6));
}

// Rows and their copies 2 x 512; of positions their sum 3 x 512; dropout 2.5 x 512. Backward 2 x
// 512 for each of both, dropout, and zeroes for 2048 x 512 and 256 x 512 weights: 41.94304
// + 5.24288 us.
TEST(TransformerWork, EmbeddingLooksUpItsTokens) {
  const PassWork work = embedding_work(gpt_shape(), kWhole, slow_memory(true), kHalf);
  expect_us(work.forward, 0.04 * 512 * (2 + 3 + 2.5));
  EXPECT_EQ(work.input_gradient, Duration{});
  expect_us(work.weight_gradient, 0.04 * 512 * (2 + 2 + 2.5) + 41.94304 + 5.24288);
  const PassWork rotary = embedding_work(gated_shape(), kWhole, slow_memory(true), kHalf);
  expect_us(rotary.forward, 0.04 * 1024);
  expect_us(rotary.weight_gradient, 0.04 * 1024 + 41.94304);
}

// Norm 2 x 512, product 512 + 2048 and 2048 x 512 weights, loss 2 x 2048 values; in mixed precision
// 4 times as many bytes for the loss.
TEST(TransformerWork, HeadHasNormLogitsAndLoss) {
  const Device device = slow_memory(true);
  const PassWork work = head_work(gpt_shape(), kWhole, device, kHalf);
  expect_us(work.forward, 0.04 * (1024 + 2560 + 4096) + 41.94304);
  expect_us(work.input_gradient, 0.04 * (1.7 * 1024 + 2560 + 4096) + 41.94304);
  expect_us(work.weight_gradient, 0.04 * 2560 + 41.94304);
  expect_us(head_work(gpt_shape(), kWhole, device, kMixed).forward,
            0.04 * (1024 + 2560 + 4 * 4096) + 41.94304);
  ShapeCut cut = kWhole;
  cut.tensor = 2;  // each has half of the vocabulary
  expect_us(head_work(gpt_shape(), cut, device, kHalf).forward,
            0.04 * (1024 + 512 + 1024 + 2048) + 41.94304 / 2);
}

// Adam in mixed precision: 7 x 4 + 2 (the weights that products use) + 4 (norm) + 4 (zeroes) = 38 B
// a parameter at 50e9 B/s, three launches.
TEST(TransformerWork, OptimizerReadsAndWritesItsParameters) {
  Device device = round_device(true);
  device.kernel_overhead = from_seconds(10e-6);
  expect_us(optimizer_time(1'000'000, device, kMixed), 760 + 30);
  expect_us(optimizer_time(1'000'000, device, kHalf), 360 + 30);  // 7 x 2 + 2 + 2 = 18 B
  EXPECT_EQ(optimizer_time(0, device, kMixed), Duration{});
}

const Software kFused{};
const Software kUnfused{.attention = AttentionKernel::kUnfused};

// s b h (10 + 24/t + 5 a s/(h t)) and s b h (34/t + 5 a s/(h t)): arXiv 2205.05198, table 2.
TEST(TransformerMemory, IsThatOfKorthikanti) {
  for (const std::int64_t t : {1, 2, 4, 8}) {
    const ShapeCut cut{.samples = 3, .sequence = 1024, .tensor = t};
    ShapeCut with = cut;
    with.sequence_parallel = true;
    const std::int64_t sbh = std::int64_t{1024} * 3 * 512;
    const std::int64_t core = sbh * 5 * 8 * 1024 / (512 * t);
    const TransformerShape shape = gpt_shape();
    const LayerMemory kept = layer_memory(shape, cut, 2, kUnfused);
    EXPECT_EQ(kept.whole().count, sbh * 10 + sbh * 24 / t + core) << t;
    EXPECT_EQ(kept.selective().count, sbh * 10 + sbh * 24 / t) << t;
    EXPECT_EQ(kept.input.count, 2 * sbh) << t;
    const LayerMemory split = layer_memory(shape, with, 2, kUnfused);
    EXPECT_EQ(split.whole().count, sbh * 34 / t + core) << t;
    EXPECT_EQ(split.input.count, 2 * sbh / t) << t;
    // Fused attention keeps no scores, but a float32 sum per head.
    const LayerMemory fused = layer_memory(shape, cut, 2, kFused);
    EXPECT_EQ(fused.attention_core.count, 0) << t;
    EXPECT_EQ(fused.whole().count, kept.selective().count + 1024 * 3 * 8 * 4 / t) << t;
  }
}

// 8h + 4 a e + 4 k e + 6 f bytes a token: 8 x 512 + 4 x 512 + 4 x 128 + 6 x 1024 = 12,800; fused, 4
// more per head. Unfused without dropout only the softmax, 2 x 8 x 250. Twice in float32.
TEST(TransformerMemory, IsThatOfItsOperators) {
  const TransformerShape shape = gated_shape();
  EXPECT_EQ(layer_memory(shape, kWhole, 2, kFused).whole().count, 1000 * (12'800 + 32));
  EXPECT_EQ(layer_memory(shape, kWhole, 2, kUnfused).whole().count, 1000 * (12'800 + 4000));
  EXPECT_EQ(layer_memory(shape, kWhole, 4, kUnfused).whole().count, 2 * 1000 * (12'800 + 4000));
  ShapeCut cut = kWhole;
  cut.context = 2;
  EXPECT_EQ(layer_memory(shape, cut, 2, kFused).whole().count, 500 * (12'800 + 32));
}

// Norms of several kernels, in eager PyTorch: of each of both the input in float32 and what it is
// normalized to, 2 x (4 + 2) h = 12 x 512 B a token, all of it between its own kernels, and not the
// input in 2 B, 2 x 2 h; and of the gate its result, 2 f = 2 x 1,024 B.
TEST(TransformerMemory, NormsOfSeveralKernelsKeepWhatIsBetweenThem) {
  Software eager = kFused;
  eager.fuses_operators = false;
  const LayerMemory kept = layer_memory(gated_shape(), kWhole, 2, eager);
  EXPECT_EQ(kept.norms.count, 1000 * 12 * 512);
  EXPECT_EQ(kept.whole().count, 1000 * (12'800 + 32 + 12 * 512 - 4 * 512 + 2 * 1024));
  EXPECT_EQ(layer_memory(gpt_shape(), kWhole, 2, eager).norms.count, 0);  // one kernel anywhere
  EXPECT_EQ(layer_memory(gated_shape(), kWhole, 2, kFused).norms.count, 0);
}

// Tokens of 8 bytes; with dropout a byte of its mask for each value. Logits: 2 bytes, 4 for a
// float32 copy, 4 for its gradient, which a fused loss has in the copy's place.
TEST(TransformerMemory, OfBothEnds) {
  EXPECT_EQ(embedding_memory(gated_shape(), kWhole).count, 8000);
  EXPECT_EQ(embedding_memory(gpt_shape(), kWhole).count, 1000 * (8 + 512));
  ShapeCut cut = kWhole;
  cut.tensor = 2;
  EXPECT_EQ(head_memory(gpt_shape(), cut, 2, false).inputs.count, 1000 * 4 * 512);
  EXPECT_EQ(head_memory(gpt_shape(), cut, 2, false).logits.count, 1000 * 1024 * 10);
  EXPECT_EQ(head_memory(gpt_shape(), cut, 4, false).logits.count, 1000 * 1024 * 8);
  EXPECT_EQ(head_memory(gpt_shape(), cut, 2, true).logits.count, 1000 * 1024 * 6);
  cut.sequence_parallel = true;
  EXPECT_EQ(head_memory(gpt_shape(), cut, 2, false).inputs.count, 1000 * 4 * 512 / 2);
  EXPECT_EQ(embedding_memory(gpt_shape(), cut).count, 1000 * (8 + 512) / 2);
}

ShapeCut cut_of(const Json& row) {
  return {.samples = row.at("batch").get<std::int64_t>(),
          .sequence = row.at("sequence").get<std::int64_t>(),
          .tensor = row.at("tensor").get<std::int64_t>(),
          .sequence_parallel = row.value("sequence_parallel", false)};
}

double kept(const Json& row) {
  const LayerMemory memory =
      layer_memory(shipped(row.at("shape").get<std::string>()), cut_of(row), 2, kUnfused);
  const auto recompute = row.at("recompute").get<std::string>();
  if (recompute == "full") return static_cast<double>(memory.input.count);
  return static_cast<double>((recompute == "none" ? memory.whole() : memory.selective()).count);
}

// The paper's own formula of the first stage. State: 18 bytes for each of 12 h^2 L parameters,
// without embeddings and biases, over t p ranks. Activations: p micro-batches of L / p layers; with
// v chunks a rank 1 + (p - 1) / (p v) times as many.
TEST(TransformerMemory, IsThatOfFigure1) {
  const Json rows = parse_json(read_file(kRows), kRows).at("figure_1");
  ASSERT_EQ(rows.size(), 12u);
  for (const Json& row : rows) {
    TransformerShape shape = shipped(row.at("shape").get<std::string>());
    const double p = row.at("pipeline").get<double>();
    const double v = row.at("chunks").get<double>();
    const auto layers = static_cast<double>(shape.layers);
    double bytes = 0;
    if (row.at("quantity") == "state") {
      shape.biases = false;
      bytes = 18 * layers * static_cast<double>(shape.layer_parameters().split) /
              (row.at("tensor").get<double>() * p);
    } else {
      bytes = layers * kept(row) * (v > 1 ? 1 + (p - 1) / (p * v) : 1);
    }
    const double gib = row.at("gib").get<double>();
    EXPECT_NEAR(bytes / std::pow(2.0, 30), gib, 1e-6 * gib) << row.dump();
  }
}

TEST(TransformerMemory, IsThatOfFigure7) {
  const Json rows = parse_json(read_file(kRows), kRows).at("figure_7");
  ASSERT_EQ(rows.size(), 16u);
  for (Json row : rows) {
    const double part = kept(row);
    row["recompute"] = "none";
    row["sequence_parallel"] = false;
    EXPECT_NEAR(100 * part / kept(row), row.at("percent").get<double>(), 0.2) << row.dump();
  }
}

TEST(TransformerFlops, AreThoseOfTheLayerTables) {
  for (const char* name : {"llama-2-7b", "gpt2-xl"}) {
    for (const std::int64_t sequence : {512, 1024}) {
      std::int64_t macs = 0;
      for (const TableLayer& layer : read_layer_table(find_layer_table(name), sequence).layers)
        macs += layer.macs;
      EXPECT_EQ(multiply_accumulates(shipped(name), sequence), macs) << name << " " << sequence;
    }
  }
}

// 96 B s l h^2 (1 + s/(6h) + V/(16 l h)), arXiv 2104.04473, equation 3, counts full recomputation
// and a whole core: 4 forwards of the layers and 3 of the logits.
TEST(TransformerFlops, AreThoseOfMegatron) {
  const TransformerShape shape = shipped("gpt3-175b");
  constexpr double kS = 2048;
  const auto h = static_cast<double>(shape.hidden);
  const auto l = static_cast<double>(shape.layers);
  const SampleFlops flops = sample_flops(shape, 2048);
  const double eq3 = 96 * kS * l * h * h * (1 + kS / (6 * h) + 51'200 / (16 * l * h));
  EXPECT_NEAR(4 * (flops.layers + flops.attention_core) + 3 * flops.head, eq3, 1e-12 * eq3);
  // Today: 3 forwards with half of the core.
  EXPECT_DOUBLE_EQ(flops.model(), 3 * (flops.layers + flops.head) + 1.5 * flops.attention_core);
  EXPECT_DOUBLE_EQ(flops.full_recompute() + flops.head, flops.forward());
  EXPECT_DOUBLE_EQ(flops.selective_recompute(), flops.attention_core / 2);
}

TEST(TransformerFlops, OfAbsurdSequencesAreRefused) {
  EXPECT_THROW(multiply_accumulates(shipped("gpt-1008b"), 1'000'000'000), std::overflow_error);
}

}  // namespace
}  // namespace steptime
