// What models/devices/<name>.json says: the figures of a device that turn a layer's work into time.
#pragma once
#include "sim/core/units.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace steptime {

/// How fast a device multiplies in one precision.
struct Arithmetic {
  double flops = 0;                   ///< peak, flop/s
  double gemm_efficiency = 1;         ///< share of it that matrix products reach
  double convolution_efficiency = 1;  ///< share of it that convolutions reach
  /// Inputs, and outputs, of a layer at which a matrix product with its weights reaches half of
  /// that.
  double gemm_half_size = 0;
  double depthwise_efficiency = 1;  ///< share of it that depthwise convolutions reach
  double filter_gain = 1;           ///< how many times fewer products a fast convolution needs
  /// How often the values of a convolution are moved: beyond once where they are transposed for it.
  double convolution_traffic = 1;
  std::optional<Duration> kernel_overhead{};  ///< none: the device's
  bool has_tensor_cores = false;
  bool knows_depthwise = false;  ///< calibrated on depthwise convolutions
  bool knows_sequences = false;  ///< calibrated on networks on sequences
  /// Errors over rows that were not fitted; none: the device is not calibrated.
  std::optional<ModelErrors> validation{};
};

/// How fast a device works on the shapes of transformers in one precision of their products. Their
/// forms: models/transformer_work.cpp.
struct TransformerRates {
  double flops = 0;                 ///< peak, flop/s
  double gemm_efficiency = 1;       ///< share of it that large products reach
  double gemm_half_size = 0;        ///< summed values at which they reach half of that
  double attention_efficiency = 1;  ///< share of the peak that fused attention reaches
  double unfused_traffic = 1;       ///< how often what a compiler would fuse moves its values
};

struct Device {
  std::string name;
  std::map<std::string, Arithmetic> precisions{};  ///< by name: float32, tf32, ...
  /// Of transformers by the type of their products: bfloat16, float8, ...; none: as other networks.
  std::map<std::string, TransformerRates> transformers{};
  Bandwidth memory_bandwidth{};  ///< peak
  double memory_efficiency = 1;  ///< share of the peak bandwidth that kernels reach
  Duration kernel_overhead{};    ///< per kernel, whatever its size and, mostly, precision
  /// Time of a kernel that only copies an array; none: not measured.
  std::optional<Duration> copy_overhead{};
  std::optional<std::int64_t> multiprocessors{};
  std::optional<Bytes> memory{};
  bool fuses_attention = false;  ///< attention is one kernel that keeps its weights on the chip
  std::int64_t batch_from = 1;   ///< the calibrated batch sizes
  std::int64_t batch_to = 1;
  std::string calibration{};  ///< on what
};

/// B of a value in "float64", "float32", "tf32", "float16" or "bfloat16".
std::int64_t bytes_of(const std::string& precision);

/// Reads and checks a device file. Throws InputError.
Device read_device(const std::string& path);
Device parse_device(const std::string& text, const std::string& file);

}  // namespace steptime
