#include "models/kernel_time.h"

#include <algorithm>
#include <cmath>

namespace steptime {
namespace {

/// Matrix-product kernels compute output channels in tiles of at least this many.
constexpr double kChannelTile = 64;
/// Tensor cores take twice as many.
constexpr double kTensorCoreTile = 128;

}  // namespace

KernelTime::KernelTime(const Device& device, const std::string& precision)
    : rates_(device.precisions.at(precision)),
      bandwidth_(device.memory_bandwidth.bytes_per_second * device.memory_efficiency),
      values_per_second_(bandwidth_ / static_cast<double>(bytes_of(precision))),
      overhead_(to_seconds(rates_.kernel_overhead.value_or(device.kernel_overhead))) {}

double KernelTime::seconds(const Kernel& kernel, double samples) const {
  return std::max(kernel.flops * samples / (rates_.flops * kernel.efficiency),
                  (kernel.values * samples + kernel.weights) / values_per_second_) +
         overhead_;
}

double rounded_up(double count, double to) {
  return std::ceil(count / to) * to;
}

double tiled_flops(double flops, double outputs, const Arithmetic& rates) {
  const double tile = rates.has_tensor_cores ? kTensorCoreTile : kChannelTile;
  return flops * (rounded_up(outputs, tile) / outputs);
}

double product_flops(double flops, double inputs, double outputs, const Arithmetic& rates) {
  return tiled_flops(flops, outputs, rates) * (1 + rates.gemm_half_size / inputs) *
         (1 + rates.gemm_half_size / outputs);
}

std::pair<Kernel, Kernel> fused_attention(double flops, double values, const Arithmetic& rates) {
  return {{flops, rates.gemm_efficiency, values}, {2.5 * flops, rates.gemm_efficiency, 2 * values}};
}

}  // namespace steptime
