// Is a launch as long as its slower resource, and is a product's work that of its tiles?
//
// The device of these tests: 2e12 flop/s, 100 GB/s at half, so 12.5e9 values of 4 bytes per second;
// 10 us per kernel.
#include "models/kernel_time.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Device round_device() {
  return {.name = "round",
          .precisions = {{"float32", {.flops = 2e12, .gemm_efficiency = 0.5}},
                         {"float16", {.flops = 8e12, .has_tensor_cores = true}}},
          .memory_bandwidth = {100e9},
          .memory_efficiency = 0.5,
          .kernel_overhead = from_seconds(10e-6)};
}

// 1e6 flop a sample at 1e12 flop/s: 1 us each; 1250 values and once 12,500: 0.1 us each and 1 us.
TEST(KernelTime, IsThatOfTheSlowerResourceAndTheLaunch) {
  const KernelTime time(round_device(), "float32");
  const Kernel kernel{.flops = 1e6, .efficiency = 0.5, .values = 1250, .weights = 12'500};
  EXPECT_DOUBLE_EQ(time.seconds(kernel, 100), 100e-6 + 10e-6);
  EXPECT_DOUBLE_EQ(time.seconds({.values = 1250, .weights = 12'500}, 100), 11e-6 + 10e-6);
  EXPECT_DOUBLE_EQ(time.seconds({}, 100), 10e-6);
  EXPECT_DOUBLE_EQ(time.bytes_per_second(), 50e9);
}

// Efficiencies that were fitted with an overhead keep it, whatever the device's is.
TEST(KernelTime, APrecisionMayHaveAnOverheadOfItsOwn) {
  Device device = round_device();
  device.precisions.at("float32").kernel_overhead = from_seconds(40e-6);
  EXPECT_DOUBLE_EQ(KernelTime(device, "float32").seconds({}, 100), 40e-6);
  EXPECT_DOUBLE_EQ(KernelTime(device, "float16").seconds({}, 100), 10e-6);
}

// Values of 2 bytes: twice as many per second.
TEST(KernelTime, ValuesHaveThePrecisionsBytes) {
  const KernelTime time(round_device(), "float16");
  EXPECT_DOUBLE_EQ(time.seconds({.values = 25'000}, 1), 1e-6 + 10e-6);
  EXPECT_THROW(KernelTime(round_device(), "tf32"), std::out_of_range);
}

// 96 outputs take two tiles of 64, or one of 128: 128 / 96 of the work.
TEST(KernelTime, OutputsComeInTiles) {
  const Device device = round_device();
  EXPECT_DOUBLE_EQ(tiled_flops(96, 96, device.precisions.at("float32")), 128);
  EXPECT_DOUBLE_EQ(tiled_flops(64, 64, device.precisions.at("float32")), 64);
  EXPECT_DOUBLE_EQ(tiled_flops(64, 64, device.precisions.at("float16")), 128);
}

// Half as fast at 100 inputs, again at 100 outputs, which are two tiles: 4 x 128 / 100.
TEST(KernelTime, SmallProductsReachLess) {
  const Arithmetic rates{.gemm_half_size = 100};
  EXPECT_DOUBLE_EQ(product_flops(100, 100, 100, rates), 4 * 128);
  EXPECT_DOUBLE_EQ(product_flops(100, 100, 100, {}), 128);
}

TEST(KernelTime, FusedAttentionMakesItsScoresAgain) {
  const auto [forward, backward] = fused_attention(20, 7, {.gemm_efficiency = 0.5});
  EXPECT_EQ(forward.flops, 20);
  EXPECT_EQ(forward.values, 7);
  EXPECT_EQ(forward.efficiency, 0.5);
  EXPECT_EQ(backward.flops, 50);  // 5 products for 2
  EXPECT_EQ(backward.values, 14);
  EXPECT_EQ(backward.efficiency, 0.5);
}

}  // namespace
}  // namespace steptime
