// Time of each layer of a table on a device: see models/roofline.cpp.
#pragma once
#include "models/layer_table.h"
#include "sim/core/units.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <map>
#include <string>

namespace steptime {

/// What models/devices/<name>.json says.
struct Device {
  std::string name;
  std::map<std::int64_t, double> flops{};  ///< peak flop/s, by bytes per value
  Bandwidth memory_bandwidth{};            ///< peak
  double gemm_efficiency = 1;    ///< share of the peak flop rate that matrix products reach
  double memory_efficiency = 1;  ///< share of the peak bandwidth that kernels reach
  double filter_gain = 1;        ///< how many times fewer products a fast convolution needs
  Duration kernel_overhead{};    ///< per kernel, whatever its size
  std::int64_t batch_from = 1;   ///< the calibrated batch sizes
  std::int64_t batch_to = 1;
  std::string calibration{};  ///< on what
  ModelErrors validation{};   ///< of published rows at these batch sizes, none of them fitted
};

/// Reads and checks a device file. Throws InputError.
Device read_device(const std::string& path);
Device parse_device(const std::string& text, const std::string& file);

/// `bytes_per_value` must be a key of device.flops. Throws InputError when the step takes longer
/// than any trace may.
Trace roofline(const LayerTable& table, const Device& device, std::int64_t batch,
               std::int64_t bytes_per_value);

}  // namespace steptime
