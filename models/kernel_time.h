// Time of one launch on a device = max(work / flop rate, bytes moved / memory bandwidth) +
// overhead: what a roofline of layers and the work of a transformer's shape are made of.
//
// Scope: a kernel alone on the device, after a library has chosen it; no caches between kernels.
// Parameters: those of the device's file. Source and validation: models/roofline.cpp.
#pragma once
#include "models/device.h"

#include <string>
#include <utility>

namespace steptime {

/// One launch on the device, over samples or tokens.
struct Kernel {
  double flops = 0;       ///< per sample
  double efficiency = 1;  ///< share of the peak that these reach
  double values = 0;      ///< read and written, per sample
  double weights = 0;     ///< read and written per launch, in values
};

class KernelTime {
 public:
  /// `precision`: one that the device has.
  KernelTime(const Device& device, const std::string& precision);
  double seconds(const Kernel& kernel, double samples) const;
  const Arithmetic& rates() const { return rates_; }
  double bytes_per_second() const { return bandwidth_; }
  double overhead() const { return overhead_; }

 private:
  Arithmetic rates_;
  double bandwidth_;  ///< B/s that kernels reach
  double values_per_second_;
  double overhead_;  ///< s
};

double rounded_up(double count, double to);

/// What the device executes for so many floating-point operations of a product with weights:
/// outputs come in tiles.
double tiled_flops(double flops, double outputs, const Arithmetic& rates);
/// The same of a matrix product, as many as take its time at the share of the peak that large ones
/// reach.
double product_flops(double flops, double inputs, double outputs, const Arithmetic& rates);

/// Forward and backward kernel of an attention that keeps its weights on the chip: `flops` of the
/// two forward products, `values` of queries, keys, values and the result. Backward each of these
/// and its gradient is moved, and the scores are made again: 5 products for 2.
std::pair<Kernel, Kernel> fused_attention(double flops, double values, const Arithmetic& rates);

}  // namespace steptime
