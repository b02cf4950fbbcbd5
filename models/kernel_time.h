// How long a kernel takes on a device: for layer tables (models/roofline.cpp) and for shapes of
// transformers (models/transformer_work.cpp) alike.
#pragma once
#include "models/device.h"

#include <string>

namespace steptime {

class KernelTime {
 public:
  /// `precision`: one that the device has. `device` must outlive this.
  KernelTime(const Device& device, const std::string& precision);

  /// s of a launch: max(flops / (peak x efficiency), values read and written / their rate), and
  /// the overhead of a kernel.
  double seconds(double flops, double efficiency, double values) const;
  /// Of a matrix product with weights: the operations that the device executes for `flops` of
  /// them, in tiles of output channels, with few inputs and few outputs at less than its rate.
  double executed(double flops, double inputs, double outputs) const;

  const Arithmetic& rates() const { return rates_; }
  /// B/s that kernels reach.
  double bandwidth() const { return bandwidth_; }
  double value_bytes() const { return value_bytes_; }

 private:
  const Arithmetic& rates_;
  double bandwidth_;
  double value_bytes_;
  double overhead_;
};

/// Output channels that are computed together.
double tile_of(const Arithmetic& rates);
double rounded_up(double count, double to);

}  // namespace steptime
