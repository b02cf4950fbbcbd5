// Is the time of each layer that of its slower resource, with the traffic of its kind?
//
// The device of these tests: 2e12 flop/s at half efficiency, 100 GB/s at half, so 1e12 flop/s and
// 12.5e9 values of 4 bytes per second; 10 us per kernel. With a batch of 1000, 12,500 values per
// sample take 1 ms.
#include "models/roofline.h"

#include "sim/config/data_dir.h"
#include "sim/config/json.h"
#include "sim/config/registry.h"
#include "sim/core/error.h"
#include "sim/workload/workload.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

Arithmetic rates(double flops) {
  return {.flops = flops,
          .gemm_efficiency = 0.5,
          .convolution_efficiency = 0.5,
          .depthwise_efficiency = 0.5,
          .filter_gain = 2};
}

Device round_device() {
  Arithmetic calibrated = rates(2e12);
  calibrated.validation = ModelErrors{.rows = 9, .typical_pct = 5, .worst_pct = 11};
  return {.name = "round",
          .precisions = {{"float16", rates(8e12)}, {"float32", calibrated}},
          .memory_bandwidth = {100e9},
          .memory_efficiency = 0.5,
          .kernel_overhead = from_seconds(10e-6),
          .batch_from = 1,
          .batch_to = 1000,
          .calibration = "Not fitted."};
}

LayerTable table_of(std::vector<TableLayer> layers) {
  return {.name = "test/net",
          .input = 1000,
          .provenance = {{"source", "s"}, {"licence", "l"}, {"date", "d"}},
          .layers = std::move(layers)};
}

/// 1000 values to 640, no bias.
TableLayer fully_connected() {
  return {.name = "fc",
          .kind = LayerKind::kFullyConnected,
          .macs = 640'000,
          .input = 1000,
          .output = 640,
          .tensors = {{"fc.w", 640'000}}};
}

/// 64 to 64 channels of 10x10, filters of 3x3: each value is used 9 times.
TableLayer convolution() {
  return {.name = "conv",
          .kind = LayerKind::kConvolution,
          .macs = 3'686'400,
          .input = 6400,
          .output = 6400,
          .tensors = {{"conv.w", 36'864}}};
}

Trace run(std::vector<TableLayer> layers, std::int64_t batch = 1000,
          const Training& training = {}) {
  return roofline(table_of(std::move(layers)), round_device(), batch, training);
}

const Training kHalf{.precision = "float16", .weight_bytes = 2};

void expect_us(Duration time, double microseconds) {
  EXPECT_NEAR(to_seconds(time) * 1e6, microseconds, 1e-6);  // times are rounded to 1 ps
}

// Two values moved of each of 6400 at 25e9 a second, 1000 samples: 512 us and 10 us for each kernel
// that converts; two kernels a pass. A layer that is not the first has two passes backward. No
// tensor cores: nothing to convert to.
TEST(Roofline, ConvolutionsConvertChannelsFirstForTensorCores) {
  const auto more = [](bool has_tensor_cores) {
    Device device = round_device();
    device.precisions.at("float16").has_tensor_cores = has_tensor_cores;
    Training first = kHalf;
    first.channels_first = true;
    const LayerTable table = table_of({convolution(), convolution(), fully_connected()});
    const Trace plain = roofline(table, device, 1000, kHalf);
    const Trace converting = roofline(table, device, 1000, first);
    std::vector<double> us;
    for (std::size_t i = 0; i < 3; ++i) {
      const Layer& a = plain.layers[i];
      const Layer& b = converting.layers[i];
      us.push_back(std::round(to_seconds(b.forward - a.forward) * 1e6));
      us.push_back(std::round(to_seconds(b.backward - a.backward) * 1e6));
    }
    return us;
  };
  EXPECT_EQ(more(true), (std::vector<double>{1044, 1044, 1044, 2088, 0, 0}));
  EXPECT_EQ(more(false), std::vector<double>(6, 0));
}

// A block as ResNet ends it: a batch norm, the addition of another 6400 values, an activation. 6400
// values of 1000 samples take 512 us. Alone the norm moves 3 times them forward and 5 backward, the
// addition 3 and 3, the activation 2 and 3, in a kernel each; fused, the norm moves what is added,
// too: 4 and 6. Each kernel of a norm reads its weights.
TEST(Roofline, FusedBatchNormsAddAndActivate) {
  const auto layer = [](const char* name, LayerKind kind, std::int64_t input) {
    return TableLayer{.name = name, .kind = kind, .input = input, .output = 6400};
  };
  TableLayer norm = layer("bn", LayerKind::kBatchNorm, 6400);
  norm.tensors = {{"bn.w", 64}};
  const std::vector<TableLayer> block{fully_connected(), norm, layer("add", LayerKind::kAdd, 12800),
                                      layer("relu", LayerKind::kActivation, 6400)};
  const Trace alone = run(block);
  const Trace fused = run(block, 1000, {.fuses_norms = true});
  const double weights = 64 / 12.5e3;  // us, read once by a kernel
  const double update = 5 * weights + 10;
  expect_us(alone.layers[1].forward, 3 * 512 + weights + 10 + update);
  expect_us(alone.layers[2].forward, 3 * 512 + 10);
  expect_us(alone.layers[3].backward, 3 * 512 + 10);
  expect_us(fused.layers[1].forward, 4 * 512 + weights + 10 + update);
  expect_us(fused.layers[1].backward, 6 * 512 + weights + 10);
  for (const std::size_t part : {2, 3}) {
    EXPECT_EQ(fused.layers[part].forward, Duration{});
    EXPECT_EQ(fused.layers[part].backward, Duration{});
  }
  EXPECT_EQ(fused.layers.size(), alone.layers.size());
}

// 2 * 640,000 * 1000 flop at 1e12 flop/s: 1280 us, against 182.4 us of memory traffic. The update
// of 640,000 weights moves 5 values each: 256 us. Two kernels forward.
TEST(Roofline, FullyConnectedLayerIsBoundByItsProducts) {
  const Trace trace = run({fully_connected()});
  expect_us(trace.layers[0].forward, 1280 + 10 + 256 + 10);
  // The first layer with tensors: the weight gradient only.
  expect_us(trace.layers[0].backward, 1280 + 10);
}

// With one sample the products take 1.28 us; reading the weights and 1640 activations takes
// 641,640 / 12.5e9 s = 51.3312 us.
TEST(Roofline, FullyConnectedLayerIsBoundByItsWeightsAtBatchOne) {
  const Trace trace = run({fully_connected()}, 1);
  expect_us(trace.layers[0].forward, 51.3312 + 10 + 256 + 10);
}

TEST(Roofline, LaterLayersHaveADataGradientToo) {
  const Trace trace = run({fully_connected(), fully_connected()});
  expect_us(trace.layers[1].backward, 2 * (1280 + 10));
}

// 2 * 3,686,400 * 1000 flop: 7372.8 us, of which a gain of 2 leaves 3686.4 us (memory: 1026.9 us);
// 36,864 weights are updated in 14.7456 us.
TEST(Roofline, LargeFiltersThatMoveByOneAreFast) {
  const Trace trace = run({fully_connected(), convolution()});
  expect_us(trace.layers[1].forward, 3686.4 + 10 + 14.7456 + 10);
  expect_us(trace.layers[1].backward, 2 * (3686.4 + 10));
}

TEST(Roofline, OtherConvolutionsAreNotFast) {
  TableLayer moved_by_two = convolution();  // from 20x20 to 10x10: each value is used 2.25 times
  moved_by_two.input *= 4;
  TableLayer first = convolution();
  LayerTable table = table_of({fully_connected(), moved_by_two, first});
  table.input = first.input;
  const Trace trace = roofline(table, round_device(), 1000, {});
  expect_us(trace.layers[1].forward, 7372.8 + 10 + 14.7456 + 10);
  expect_us(trace.layers[2].forward, 7372.8 + 10 + 14.7456 + 10);
}

// 96 channels take two tiles of 64, as 128 do: 2 * 96,000 * 1000 * 128 / 96 flop, 256 us; the
// update of 96,000 weights takes 38.4 us.
TEST(Roofline, OutputChannelsComeInTiles) {
  TableLayer layer = fully_connected();
  layer.output = 96;
  layer.macs = layer.tensors[0].params = 96'000;
  expect_us(run({layer}).layers[0].forward, 256 + 10 + 38.4 + 10);
}

// A channel of its own per filter has no tiles: 2 * 57,600 * 1000 flop take 115.2 us, the 12,800
// values 1024 us and the 576 weights 0.04608 us; their update 0.2304 us.
TEST(Roofline, DepthwiseConvolutionIsBoundByMemory) {
  const Trace trace = run({fully_connected(),
                           {.name = "dw",
                            .kind = LayerKind::kDepthwiseConvolution,
                            .macs = 57'600,
                            .input = 6400,
                            .output = 6400,
                            .tensors = {{"dw.w", 576}}}});
  expect_us(trace.layers[1].forward, 1024.04608 + 10 + 0.2304 + 10);
  EXPECT_EQ(trace.domain, "depthwise convolutions are not calibrated");
}

// X = 1000, Y = 500 values per sample; 0.08 us per value at a batch of 1000.
TEST(Roofline, TrafficOfEachKind) {
  struct Case {
    LayerKind kind;
    double forward;
    double backward;
  };
  for (const Case& c : {Case{LayerKind::kActivation, 1500, 2000},  // X+Y; 2Y+X
                        Case{LayerKind::kAdd, 1500, 1500},         // X+Y; Y+X
                        Case{LayerKind::kBatchNorm, 2500, 4000},   // 2X+Y; 2(X+Y)+X
                        Case{LayerKind::kConcat, 1500, 1500},      // X+Y; Y+X
                        Case{LayerKind::kDropout, 2000, 2000},     // X+2Y; 2Y+X
                        Case{LayerKind::kEmbedding, 1000, 1000},   // 2Y; 2Y
                        Case{LayerKind::kLayerNorm, 1500, 2500},   // X+Y; 2X+Y
                        Case{LayerKind::kLrn, 1500, 3000},         // X+Y; 2(X+Y)
                        Case{LayerKind::kPooling, 1500, 3000},     // X+Y; 2(X+Y)
                        Case{LayerKind::kSoftmax, 1500, 1500}}) {  // X+Y; Y+X
    SCOPED_TRACE(static_cast<int>(c.kind));
    const TableLayer layer{.name = "x", .kind = c.kind, .input = 1000, .output = 500};
    const Trace trace = run({fully_connected(), layer});
    expect_us(trace.layers[1].forward, 0.08 * c.forward + 10);
    expect_us(trace.layers[1].backward, 0.08 * c.backward + 10);
  }
}

// 2 * 10,000 * 1000 flop at 1e12 flop/s: 20 us, against 0.08 x 1500 us of traffic; backward once
// for each factor. An embedding's 5000 weights are zeroed, 0.4 us, and updated, 2 us.
TEST(Roofline, ProductsOfActivationsAndLookups) {
  const TableLayer scores{.name = "scores",
                          .kind = LayerKind::kMatrixProduct,
                          .macs = 10'000,
                          .input = 1000,
                          .output = 500};
  const TableLayer lookup{.name = "words",
                          .kind = LayerKind::kEmbedding,
                          .input = 1,
                          .output = 500,
                          .tensors = {{"words.w", 5000}}};
  const Trace trace = run({lookup, scores});
  expect_us(trace.layers[1].forward, 120 + 10);
  expect_us(trace.layers[1].backward, 2 * (120 + 10));
  expect_us(trace.layers[0].forward, 80 + 10 + 2 + 10);
  expect_us(trace.layers[0].backward, 80 + 0.4 + 10);
  EXPECT_EQ(trace.domain, "networks on sequences are not calibrated");
}

// Nobody asks for the gradient of the network's input: pooling has no backward pass, and the batch
// norm only sums up what it reads, X + Y = 2000 values per sample (and its 20 parameters).
TEST(Roofline, NoGradientBeforeTheFirstTensor) {
  const Trace trace =
      run({{.name = "pool", .kind = LayerKind::kPooling, .input = 1000, .output = 1000},
           {.name = "bn",
            .kind = LayerKind::kBatchNorm,
            .input = 1000,
            .output = 1000,
            .tensors = {{"bn.gamma", 10}, {"bn.beta", 10}}}});
  EXPECT_EQ(trace.layers[0].backward, Duration{});
  expect_us(trace.layers[1].backward, 0.08 * 2000 + 20 / 12500. + 10);
}

// Two bytes per value: 4e12 flop/s and 25e9 values per second: 320 us, and 128 us for the update.
TEST(Roofline, HalfPrecisionHasItsOwnRates) {
  const Trace trace = run({fully_connected()}, 1000, kHalf);
  expect_us(trace.layers[0].forward, 320 + 10 + 128 + 10);
  EXPECT_EQ(trace.domain, "float16 is not calibrated");
}

// The update of 640,000 weights moves 7 values each with Adam, 358.4 us, and in PyTorch's several
// kernels for all tensors at once, 18, without a start of its own: 921.6 us.
TEST(Roofline, OptimizersMoveTheirState) {
  expect_us(
      run({fully_connected()}, 1000, {.optimizer = optimizer_named("adam")}).layers[0].forward,
      1280 + 10 + 358.4 + 10);
  expect_us(run({fully_connected()}, 1000, {.optimizer = optimizer_named("adam-foreach")})
                .layers[0]
                .forward,
            1280 + 10 + 921.6);
  // In a loop over tensors each of the 7 kernels starts by itself.
  expect_us(
      run({fully_connected()}, 1000, {.optimizer = optimizer_named("adam-loop")}).layers[0].forward,
      1280 + 10 + 921.6 + 7 * 10);
}

// Half precision's 320 us of products; at batch one 1640 values of 2 bytes and the weights, read as
// float32, written and read as float16, 4 times 640,000 values, at 25e9 values a second: 102.4656
// us. Their gradient the same. The float32 weights' update: 256 us.
TEST(Roofline, MixedPrecisionCastsWeights) {
  const Training mixed{.precision = "float16"};
  expect_us(run({fully_connected()}, 1000, mixed).layers[0].forward, 320 + 10 + 256 + 10);
  const Trace trace = run({fully_connected(), fully_connected()}, 1, mixed);
  expect_us(trace.layers[1].forward, 102.4656 + 10 + 256 + 10);
  // The data gradient reads the weights that are cast already: 25.6656 us.
  expect_us(trace.layers[1].backward, 102.4656 + 10 + 25.6656 + 10);
}

// Scores of 2 x 1000 values in (queries, keys) and 100 x 100 out, softmax, context of 10,000 + 1000
// in and 1000 out; 1,000,000 multiply-accumulates each. Fused: 2000 + 1000 + 1000 values and 4e6
// flop a sample forward, twice the values and 2.5 times the flop backward; at a batch of 1000 0.08
// us a value and 0.001 us a flop.
TEST(Roofline, AttentionIsOneKernelWhereItIsFused) {
  Device device = round_device();
  const LayerTable table =
      table_of({fully_connected(),
                {.name = "scores",
                 .kind = LayerKind::kMatrixProduct,
                 .macs = 1'000'000,
                 .input = 2000,
                 .output = 10'000},
                {.name = "softmax", .kind = LayerKind::kSoftmax, .input = 10'000, .output = 10'000},
                {.name = "context",
                 .kind = LayerKind::kMatrixProduct,
                 .macs = 1'000'000,
                 .input = 11'000,
                 .output = 1000}});
  expect_us(roofline(table, device, 1000, {}).layers[2].forward, 0.08 * 20'000 + 10);
  device.fuses_attention = true;
  const Trace fused = roofline(table, device, 1000, {});
  expect_us(fused.layers[1].forward, 4000 + 10);  // 320 us of memory traffic
  expect_us(fused.layers[1].backward, 10'000 + 10);
  EXPECT_EQ(fused.layers[2].forward + fused.layers[3].backward, Duration{});
}

// Tensor cores: 640 channels are five tiles of 128 as they are ten of 64; 96 become 128 in both; a
// network of 3 colours is padded to 16: 2 * 3,686,400 * 1000 flop take 128 / 64 channels x 16 / 3.
TEST(Roofline, TensorCoresMultiplyInLargerTiles) {
  Device device = round_device();
  device.precisions.at("float32").has_tensor_cores = true;
  LayerTable table = table_of({convolution(), fully_connected(), convolution()});
  table.input = convolution().input;
  table.input_channels = 3;
  const Trace trace = roofline(table, device, 1000, {});
  expect_us(trace.layers[0].forward, 7372.8 * 2 * 16 / 3 + 10 + 14.7456 + 10);
  expect_us(trace.layers[1].forward, 1280 + 10 + 256 + 10);
}

// 1000 inputs and 640 outputs, half of the rate at 1000 each: 1280 us x (1 + 1) x (1 + 1000 / 640).
TEST(Roofline, SmallMatrixProductsAreSlow) {
  Device device = round_device();
  device.precisions.at("float32").gemm_half_size = 1000;
  const Trace trace = roofline(table_of({fully_connected()}), device, 1000, {});
  expect_us(trace.layers[0].backward, 1280 * 2 * 2.5625 + 10);
}

// Three kernels (products, weight gradient, update) of 1290, 1290 and 266 us: 2846 us. A host that
// takes 900 us to launch one runs ahead of them (2700 us); one that takes 1000 us holds them up:
// the GPU is done with a step after 1000 + 1290, 2290 + 1290 and 3580 + 266 = 3846 us, and from
// then on each step ends 3000 us after the one before it: the launches are at 4000, 5000, 6000 us,
// so that the kernels end at 5290, 6580 and 6846 us, 1444, 1290 and 266 us after the one before
// each.
TEST(Roofline, GpuWaitsForASlowHost) {
  const auto on = [](double host_us) {
    return run({fully_connected()}, 1000, {.host_per_kernel = from_seconds(host_us * 1e-6)});
  };
  expect_us(on(900).layers[0].forward, 1290 + 266);
  expect_us(on(900).layers[0].backward, 1290);
  expect_us(on(1000).layers[0].forward, 1444 + 266);
  expect_us(on(1000).layers[0].backward, 1290);
  EXPECT_EQ(on(900).forward_wait, 0);
  EXPECT_NEAR(on(1000).forward_wait, 154.0 / 1710, 1e-9);  // 1444 instead of 1290
  EXPECT_EQ(on(1000).backward_wait, 0);
  expect_us(on(1000).update, 266);
}

// A kernel that only copies starts in 7 us where other kernels take 10 us to, in what was measured
// where it was, and where the GPU waits for the host (as above) in the host's time for a launch.
TEST(Roofline, CopiesStartAsTheDeviceOrTheHostSays) {
  Device device = round_device();
  const auto start = [&](double host_us) {
    return roofline(table_of({fully_connected()}), device, 1000,
                    {.host_per_kernel = from_seconds(host_us * 1e-6)})
        .copies->start;
  };
  expect_us(start(0), 7);
  expect_us(start(900), 7);
  expect_us(start(1000), 1000);
  device.copy_overhead = from_seconds(2e-6);
  expect_us(start(900), 2);
}

TEST(Roofline, SaysWhatIsExtrapolated) {
  EXPECT_EQ(run({fully_connected()}, 1).domain, "inside");
  EXPECT_EQ(run({fully_connected()}, 1000).domain, "inside");
  EXPECT_EQ(run({fully_connected()}, 1001).domain,
            "batch 1001 is outside the calibrated 1 to 1000");
  EXPECT_EQ(run({fully_connected()}, 2000, kHalf).domain,
            "batch 2000 is outside the calibrated 1 to 1000; float16 is not calibrated");
}

TEST(Roofline, TraceSaysWhereItComesFrom) {
  const Trace trace = run({fully_connected()});
  EXPECT_EQ(trace.model, "test/net");
  EXPECT_EQ(trace.device, "round");
  EXPECT_EQ(trace.batch, 1000);
  EXPECT_EQ(trace.provenance.at("source"), "computed: layer table test/net (s) on device round");
  EXPECT_EQ(trace.provenance.at("note"), "Roofline, not a measurement. Not fitted.");
  EXPECT_EQ(trace.layers[0].tensors[0].name, "fc.w");
  // It is a trace like any other: its file format gives it back.
  EXPECT_EQ(parse_trace(write_trace(trace), "x.json").backward(), trace.backward());
}

Workload read(std::string_view workload) {
  const Params params{{.key = "workload", .kind = Kind::kObject}};
  const Config config = config_of(fmt::format(R"({{"workload": {}}})", workload), params);
  return read_workload(config.object("workload", workload_params()));
}

Trace trace_of(std::string_view model, std::string_view device, int batch) {
  return read(
             fmt::format(R"({{"model": "{}", "device": "{}", "batch": {}}})", model, device, batch))
      .trace;
}

std::string error_of(std::string_view workload) {
  return message_of<InputError>([&] { read(workload); });
}

TEST(RooflineWorkload, AliasAndFullNameGiveTheSameTimes) {
  const Trace alias = trace_of("resnet50", "v100", 64);
  const Trace full = trace_of("mxnet/resnet-50-v1", "v100", 64);
  EXPECT_EQ(alias.model, "mxnet/resnet-50-v1");
  EXPECT_EQ(alias.forward(), full.forward());
  EXPECT_EQ(alias.params(), 25'557'032);
  EXPECT_EQ(alias.domain, "inside");
}

// Of one's own, beside the config: here copies of shipped ones.
TEST(RooflineWorkload, FilesAreReadLikeShippedOnes) {
  const auto text = [](const char* file) {
    return read_file((data_dir() / "models" / file).string());
  };
  const ScratchFile model_file("mine.json", text("torch/vit-b-16.json"));
  const ScratchFile device_file("gpu.json", text("devices/h100.json"));
  const std::string model = model_file.path();
  const Trace own = trace_of(model, device_file.path(), 8);
  const Trace shipped = trace_of("vit-b-16", "h100", 8);
  EXPECT_EQ(own.forward(), shipped.forward());
  EXPECT_EQ(own.model, "torch/vit-b-16");
  EXPECT_EQ(error_of(R"({"model": "/nowhere/x.json", "device": "v100", "batch": 1})"),
            "x.json: /workload/model: /nowhere/x.json: cannot be read: No such file or directory");
  const std::string error =
      error_of(fmt::format(R"({{"model": "vgg16", "device": "{}", "batch": 1}})", model));
  EXPECT_TRUE(error.starts_with(model + ": /aliases: unknown key; known: format, ")) << error;
}

TEST(RooflineWorkload, ErrorsPointAtTheKey) {
  const std::string model = error_of(R"({"model": "resnet5", "device": "v100", "batch": 64})");
  EXPECT_TRUE(
      model.starts_with("x.json: /workload/model: unknown \"resnet5\" (did you mean "
                        "\"resnet50\"?); known: caffe/resnet50, "))
      << model;
  EXPECT_TRUE(model.ends_with(" names; steptime list prints all")) << model;
  const std::string device = error_of(R"({"model": "resnet50", "device": "V100", "batch": 64})");
  EXPECT_TRUE(
      device.starts_with("x.json: /workload/device: unknown \"V100\" (did you mean "
                         "\"v100\"?); known: "))
      << device;
  EXPECT_EQ(error_of(R"({"model": "resnet50", "device": "k80", "batch": 1, "dtype": "float16"})"),
            "x.json: /workload/dtype: device \"k80\" has no rates for float16; known: float32, "
            "float64");
  EXPECT_EQ(error_of(R"({"model": "resnet50", "device": "v100", "batch": 1, "precision": "tf32"})"),
            "x.json: /workload/precision: device \"v100\" has no rates for tf32; known: float16, "
            "float32, float64");
  EXPECT_EQ(error_of(R"({"model": "resnet50", "device": "v100", "batch": 1, "optimizer": "adan"})"),
            "x.json: /workload/optimizer: unknown \"adan\" (did you mean \"adam\"?); known: sgd, "
            "sgd-momentum, adam, adamw, distributed-fused-adam, lamb, sgd-momentum-foreach, "
            "adam-foreach, adamw-foreach, sgd-momentum-loop, adam-loop, adamw-loop, bert-adam");
  EXPECT_EQ(error_of(R"({"model": "bert-base", "device": "v100", "batch": 1, "sequence": 513})"),
            "x.json: /workload/sequence: torch/bert-base takes 1 to 512 tokens a sample, got 513");
  EXPECT_EQ(
      error_of(R"({"model": "vgg16", "device": "v100", "batch": 1, "sequence": 8})"),
      "x.json: /workload/sequence: mxnet/vgg16 has no counts per token, got 8 tokens a sample");
  EXPECT_EQ(
      error_of(R"({"model": "vgg16", "device": "k80", "batch": 1000000000})"),
      "x.json: /workload/batch: 1000000000 samples take more than 1000000 s of compute in one "
      "step");
}

// More samples take longer, and each sample less: work grows in proportion, overhead does not.
TEST(RooflineDevices, TimeGrowsWithTheBatchAndTimePerSampleFalls) {
  for (const char* device : {"k80", "p100", "v100", "rtx-2080-ti", "a100", "h100", "h200"}) {
    for (const std::string model : {"alexnet", "mobilenet", "resnet50"}) {
      SCOPED_TRACE(std::string(device) + " " + model);
      double before = 0;
      for (const int batch : {1, 2, 4, 8}) {
        const Trace trace = trace_of(model, device, batch);
        const double time = to_seconds(trace.forward() + trace.backward());
        EXPECT_GT(time, before);
        EXPECT_LT(time, batch == 1 ? HUGE_VAL : 2 * before);
        before = time;
      }
    }
  }
}

}  // namespace
}  // namespace steptime
