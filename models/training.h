// How a model is trained: what its layers' times and its memory depend on beside the device.
#pragma once
#include "models/device.h"
#include "models/optimizers.h"
#include "sim/core/units.h"

#include <cstdint>
#include <string>

namespace steptime {

/// How a network is trained on the device.
struct Training {
  std::string precision = "float32";  ///< what products and activations have; the device knows it
  std::int64_t weight_bytes = 4;      ///< per weight; more than the precision's: mixed precision
  Optimizer optimizer = optimizer_named("sgd-momentum");
  Duration host_per_kernel{};  ///< the framework's host thread launches one kernel in this time

  bool channels_first = false;  ///< convolutions convert, where tensor cores want channels last
  bool fuses_norms = false;     ///< batch norms do the addition and the activation after them

  /// Products in a narrower type than the weights'.
  bool is_mixed() const { return weight_bytes > bytes_of(precision); }
};

}  // namespace steptime
