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

double tile_of(const Arithmetic& rates) {
  return rates.has_tensor_cores ? kTensorCoreTile : kChannelTile;
}

double rounded_up(double count, double to) {
  return std::ceil(count / to) * to;
}

KernelTime::KernelTime(const Device& device, const std::string& precision)
    : rates_(device.precisions.at(precision)),
      bandwidth_(device.memory_bandwidth.bytes_per_second * device.memory_efficiency),
      value_bytes_(static_cast<double>(bytes_of(precision))),
      overhead_(to_seconds(device.kernel_overhead)) {}

double KernelTime::seconds(double flops, double efficiency, double values) const {
  return std::max(flops / (rates_.flops * efficiency), values / (bandwidth_ / value_bytes_)) +
         overhead_;
}

double KernelTime::executed(double flops, double inputs, double outputs) const {
  const double tiled = flops * (rounded_up(outputs, tile_of(rates_)) / outputs);
  return tiled * (1 + rates_.gemm_half_size / inputs) * (1 + rates_.gemm_half_size / outputs);
}

}  // namespace steptime
