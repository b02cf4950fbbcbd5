// Is the time of each layer that of its slower resource, with the traffic of its kind?
//
// The device of these tests: 2e12 flop/s at half efficiency, 100 GB/s at half, so 1e12 flop/s and
// 12.5e9 values of 4 bytes per second; 10 us per kernel. With a batch of 1000, 12,500 values per
// sample take 1 ms.
#include "models/roofline.h"

#include "sim/config/registry.h"
#include "sim/core/error.h"
#include "sim/workload/workload.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

Device round_device() {
  return {.name = "round",
          .flops = {{2, 8e12}, {4, 2e12}},
          .memory_bandwidth = {100e9},
          .gemm_efficiency = 0.5,
          .memory_efficiency = 0.5,
          .filter_gain = 2,
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

Trace run(std::vector<TableLayer> layers, std::int64_t batch = 1000, std::int64_t bytes = 4) {
  return roofline(table_of(std::move(layers)), round_device(), batch, bytes);
}

void expect_us(Duration time, double microseconds) {
  EXPECT_NEAR(to_seconds(time) * 1e6, microseconds, 1e-6);  // times are rounded to 1 ps
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
  const Trace trace = roofline(table, round_device(), 1000, 4);
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
  const Trace trace = run({fully_connected()}, 1000, 2);
  expect_us(trace.layers[0].forward, 320 + 10 + 128 + 10);
  EXPECT_EQ(trace.domain, "2-byte values are not calibrated");
}

TEST(Roofline, SaysWhatIsExtrapolated) {
  EXPECT_EQ(run({fully_connected()}, 1).domain, "inside");
  EXPECT_EQ(run({fully_connected()}, 1000).domain, "inside");
  EXPECT_EQ(run({fully_connected()}, 1001).domain,
            "batch 1001 is outside the calibrated 1 to 1000");
  EXPECT_EQ(run({fully_connected()}, 2000, 2).domain,
            "batch 2000 is outside the calibrated 1 to 1000; 2-byte values are not calibrated");
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

std::string device_text(std::string_view batch, std::string_view gain = "2") {
  return fmt::format(R"({{"format": "steptime-device", "version": 1, "name": "d", "help": "h",
    "float32_flops": 1e12, "float16_flops": 2e12, "memory_bandwidth": "1 GB/s",
    "gemm_efficiency": 0.25, "memory_efficiency": 0.75, "filter_gain": {},
    "kernel_overhead": "5 us", "calibrated_batch": {}, "calibration": "c",
    "sources": {{"flops": "f", "memory_bandwidth": "m"}}}})",
                     gain, batch);
}

TEST(Device, HoldsWhatTheFileSays) {
  const Device device = parse_device(device_text(R"({"from": 2, "to": 3})"), "d.json");
  EXPECT_EQ(device.name, "d");
  EXPECT_EQ(device.flops, (std::map<std::int64_t, double>{{2, 2e12}, {4, 1e12}}));
  EXPECT_EQ(device.memory_bandwidth, Bandwidth{1e9});
  EXPECT_EQ(device.gemm_efficiency, 0.25);
  EXPECT_EQ(device.memory_efficiency, 0.75);
  EXPECT_EQ(device.filter_gain, 2);
  EXPECT_EQ(device.kernel_overhead, Duration(5'000'000));
  EXPECT_EQ(device.batch_from, 2);
  EXPECT_EQ(device.batch_to, 3);
}

TEST(Device, RefusesWhatMakesNoSense) {
  const auto error = [](const std::string& text) {
    return message_of<InputError>([&] { parse_device(text, "d.json"); });
  };
  EXPECT_EQ(error(device_text(R"({"from": 3, "to": 2})")),
            "d.json: /calibrated_batch/to: must be at least /calibrated_batch/from, got 2 after 3");
  EXPECT_EQ(error(device_text(R"({"from": 1, "to": 2})", "0.5")),
            "d.json: /filter_gain: must be at least 1 and at most 4, got 0.5");
}

Workload read(std::string_view workload) {
  const Params params{{.key = "workload", .kind = Kind::kObject}};
  const Config config = config_of(fmt::format(R"({{"workload": {}}})", workload), params);
  return read_workload(config.object("workload", workload_params()));
}

std::string error_of(std::string_view workload) {
  return message_of<InputError>([&] { read(workload); });
}

TEST(RooflineWorkload, AliasAndFullNameGiveTheSameTimes) {
  const Trace alias = read(R"({"model": "resnet50", "device": "v100", "batch": 64})").trace;
  const Trace full =
      read(R"({"model": "mxnet/resnet-50-v1", "device": "v100", "batch": 64})").trace;
  EXPECT_EQ(alias.model, "mxnet/resnet-50-v1");
  EXPECT_EQ(alias.forward(), full.forward());
  EXPECT_EQ(alias.params(), 25'557'032);
  EXPECT_EQ(alias.domain, "inside");
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
            "x.json: /workload/dtype: device \"k80\" has no flop rate for values of 2 bytes; "
            "known: 4, 8");
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
  for (const char* device : {"k80", "p100", "v100"}) {
    for (const std::string model : {"alexnet", "mobilenet", "resnet50"}) {
      SCOPED_TRACE(std::string(device) + " " + model);
      double before = 0;
      for (const int batch : {1, 2, 4, 8}) {
        const Trace trace = read(fmt::format(R"({{"model": "{}", "device": "{}", "batch": {}}})",
                                             model, device, batch))
                                .trace;
        const double time = to_seconds(trace.forward() + trace.backward());
        EXPECT_GT(time, before);
        if (batch > 1) {
          EXPECT_LT(time, 2 * before);
        }
        before = time;
      }
    }
  }
}

}  // namespace
}  // namespace steptime
