// Does a device have what its file says, and does a file that makes no sense say where?
#include "models/device.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string device_text(std::string_view batch, std::string_view gain = "2") {
  return fmt::format(R"({{"format": "steptime-device", "version": 2, "name": "d", "help": "h",
    "precisions": {{
      "float32": {{"flops": 1e12, "gemm_efficiency": 0.25, "filter_gain": {}}},
      "bfloat16": {{"flops": 2e12, "gemm_efficiency": 0.5, "convolution_efficiency": 0.4,
                    "depthwise_efficiency": 0.01, "gemm_half_size": 1200, "convolution_traffic": 2, "tensor_cores": true,
                    "kernel_overhead": "40 us",
                    "validation": {{"rows": 3, "typical_pct": 4, "worst_pct": 5}}}}}},
    "memory_bandwidth": "1 GB/s", "memory_efficiency": 0.75, "kernel_overhead": "5 us",
    "fused_attention": true, "calibrated_batch": {}, "calibration": "c",
    "sources": {{"flops": "f", "memory_bandwidth": "m"}}}})",
                     gain, batch);
}

TEST(Device, HoldsWhatTheFileSays) {
  const Device device = parse_device(device_text(R"({"from": 2, "to": 3})"), "d.json");
  EXPECT_EQ(device.name, "d");
  ASSERT_EQ(device.precisions.size(), 2U);
  const Arithmetic& single = device.precisions.at("float32");
  EXPECT_EQ(single.flops, 1e12);
  EXPECT_EQ(single.gemm_efficiency, 0.25);
  EXPECT_EQ(single.filter_gain, 2);
  // What is not given is as the kind of product that it is a case of.
  EXPECT_EQ(single.convolution_efficiency, 0.25);
  EXPECT_EQ(single.depthwise_efficiency, 0.25);
  EXPECT_EQ(single.convolution_traffic, 1);
  EXPECT_FALSE(single.has_tensor_cores || single.knows_depthwise || single.knows_sequences);
  EXPECT_FALSE(single.validation);
  const Arithmetic& brain = device.precisions.at("bfloat16");
  EXPECT_EQ(brain.convolution_efficiency, 0.4);
  EXPECT_EQ(brain.depthwise_efficiency, 0.01);
  EXPECT_EQ(brain.gemm_half_size, 1200);
  EXPECT_EQ(brain.convolution_traffic, 2);
  EXPECT_EQ(brain.kernel_overhead, Duration(40'000'000));
  EXPECT_TRUE(brain.has_tensor_cores && brain.knows_depthwise && brain.knows_sequences);
  ASSERT_TRUE(brain.validation);
  EXPECT_EQ(brain.validation->rows, 3);
  EXPECT_EQ(device.memory_bandwidth, Bandwidth{1e9});
  EXPECT_EQ(device.memory_efficiency, 0.75);
  EXPECT_EQ(device.kernel_overhead, Duration(5'000'000));
  EXPECT_FALSE(device.copy_overhead);
  EXPECT_FALSE(device.precisions.at("float32").kernel_overhead);
  EXPECT_TRUE(device.fuses_attention);
  EXPECT_EQ(device.batch_from, 2);
  EXPECT_EQ(device.batch_to, 3);
}

TEST(Device, SaysWhatACopyTakesWhereThatWasMeasured) {
  std::string text = device_text(R"({"from": 2, "to": 3})");
  text.replace(text.find(R"("fused_attention")"), 0, R"("copy_overhead": "2 us", )");
  EXPECT_EQ(parse_device(text, "d.json").copy_overhead, Duration(2'000'000));
}

Device with_transformers(const std::string& rates) {
  std::string text = device_text(R"({"from": 2, "to": 3})");
  text.insert(1, R"("transformers": {)" + rates + "}, ");
  return parse_device(text, "d.json");
}

// Peaks of the precisions are theirs; narrower types say their own.
TEST(Device, HasRatesOfTransformers) {
  const Device device = with_transformers(
      R"("bfloat16": {"gemm_efficiency": 0.7, "gemm_half_size": 300, "attention_efficiency": 0.3,
                      "unfused_traffic": 1.5, "fitted_on": ["a"], "calibration": "c"},
         "float8": {"flops": 4e12, "gemm_efficiency": 0.6, "calibration": "c"})");
  const TransformerRates& wide = device.transformers.at("bfloat16");
  EXPECT_EQ(wide.flops, 2e12);
  EXPECT_EQ(wide.gemm_half_size, 300);
  EXPECT_EQ(wide.attention_efficiency, 0.3);
  EXPECT_EQ(wide.unfused_traffic, 1.5);
  EXPECT_EQ(device.transformers.at("float8").flops, 4e12);
}

TEST(Device, RefusesRatesOfTransformersThatMakeNoSense) {
  const auto error = [](const std::string& rates) -> std::string {
    try {
      with_transformers(rates);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error(R"("float8": {"gemm_efficiency": 0.6, "calibration": "c"})"),
            "d.json: /transformers/float8/flops: required, as no precision of this name says it");
  EXPECT_EQ(error(R"("bfloat16": {"flops": 1e12, "gemm_efficiency": 0.6, "calibration": "c"})"),
            "d.json: /transformers/bfloat16/flops: unexpected, as the precision says it");
  EXPECT_EQ(error(R"("bfloat16": {"gemm_efficiency": 0.6, "calibration": "c"})"),
            "d.json: /transformers/bfloat16/attention_efficiency: required of a 16-bit type");
}

TEST(Device, RefusesWhatMakesNoSense) {
  const auto error = [](const std::string& text) {
    return message_of<InputError>([&] { parse_device(text, "d.json"); });
  };
  EXPECT_EQ(error(device_text(R"({"from": 3, "to": 2})")),
            "d.json: /calibrated_batch/to: must be at least /calibrated_batch/from, got 2 after 3");
  EXPECT_EQ(error(device_text(R"({"from": 1, "to": 2})", "0.5")),
            "d.json: /precisions/float32/filter_gain: must be at least 1 and at most 4, got 0.5");
  std::string escaped = device_text(R"({"from": 1, "to": 2})");
  escaped.replace(escaped.find(R"("d")"), 3, R"("d\u001b[31m")");
  EXPECT_EQ(error(escaped), "d.json: /name: expected printable characters");
}

TEST(Device, BytesOfAValue) {
  EXPECT_EQ(bytes_of("float64"), 8);
  EXPECT_EQ(bytes_of("float32"), 4);
  EXPECT_EQ(bytes_of("tf32"), 4);  // ten bits of mantissa, but kept as float32
  EXPECT_EQ(bytes_of("float16"), 2);
  EXPECT_EQ(bytes_of("bfloat16"), 2);
}

Device shipped(const char* name) {
  return read_device((data_dir() / "models" / "devices" / (std::string(name) + ".json")).string());
}

// 2496 cores of 2 flop a clock: 4.368e12 flop/s at 875 MHz, 2.806e12 at the base clock of 562, a
// third as many in float64; NVIDIA gives two or three digits. What a GPU reaches of the memory's
// bandwidth falls with the clock from 705 MHz on. Everything else is as at the boost clock.
TEST(Device, K80AtItsBaseClockIsSlowerByTheClockAlone) {
  const Device boosted = shipped("k80");
  const Device base = shipped("k80-562mhz");
  EXPECT_NEAR(boosted.precisions.at("float32").flops, 2496 * 2 * 875e6, 0.005e12);
  EXPECT_NEAR(base.precisions.at("float32").flops, 2496 * 2 * 562e6, 0.01e12);
  EXPECT_NEAR(base.precisions.at("float64").flops, 2496 * 2 * 562e6 / 3, 0.005e12);
  EXPECT_NEAR(base.memory_efficiency, boosted.memory_efficiency * 562 / 705, 0.0005);
  EXPECT_EQ(base.memory_bandwidth, boosted.memory_bandwidth);
  EXPECT_EQ(base.kernel_overhead, boosted.kernel_overhead);
  EXPECT_EQ(base.memory, boosted.memory);
  EXPECT_EQ(base.multiprocessors, boosted.multiprocessors);
  for (const char* precision : {"float64", "float32"}) {
    const Arithmetic& slow = base.precisions.at(precision);
    const Arithmetic& fast = boosted.precisions.at(precision);
    EXPECT_EQ(slow.gemm_efficiency, fast.gemm_efficiency);
    EXPECT_EQ(slow.convolution_efficiency, fast.convolution_efficiency);
    EXPECT_EQ(slow.filter_gain, fast.filter_gain);
    EXPECT_FALSE(slow.validation) << "no published row is of this clock";
  }
}

}  // namespace
}  // namespace steptime
