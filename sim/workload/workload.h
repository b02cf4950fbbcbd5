// What one worker computes in a step: per-layer times and gradient sizes.
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"
#include "sim/core/units.h"
#include "sim/workload/overlap.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// One learnable array (a key in MXNet, a blob in Caffe).
struct Tensor {
  std::string name;
  std::int64_t params = 0;
};

/// How far the times of a device model were from published ones.
struct ModelErrors {
  std::int64_t rows = 0;
  double typical_pct = 0;  ///< mean of the absolute errors of the throughput
  double worst_pct = 0;
};

/// What the step of a worker needs of its GPU's memory at least, by what it is for.
struct TrainingMemory {
  Bytes weights{};
  Bytes gradients{};
  Bytes optimizer{};              ///< its state
  Bytes activations{};            ///< what the forward pass keeps for the backward pass
  Bytes context{};                ///< memory that driver and framework take
  std::optional<Bytes> device{};  ///< what the GPU has, where that is known

  Bytes total() const { return weights + gradients + optimizer + activations + context; }
  /// Whether it is known not to fit.
  bool is_too_much() const { return device && total() > *device; }
};

/// What copying arrays within a GPU's memory takes, and how many a framework keeps beside the
/// weights.
struct ArrayCopies {
  Duration start{};             ///< what starting the kernel of each copy takes
  double bytes_per_second = 1;  ///< bytes that are read or written in a second
  std::int64_t buffers = 0;     ///< mean, variance and number of batches of each batch norm
};

struct Layer {
  std::string name;
  Duration forward{};
  Duration backward{};
  std::vector<Tensor> tensors;  ///< empty for a layer without parameters

  std::int64_t params() const;
};

/// No GPU has as many.
inline constexpr std::int64_t kMostMultiprocessors = 1'000'000;

/// Per-layer compute times of one model on one device. The file format: traces/README.md.
struct Trace {
  std::string model;
  std::string device;
  std::int64_t batch = 0;  ///< samples per worker and step
  Json provenance;
  std::vector<Layer> layers;                ///< in forward order
  std::optional<Duration> forward_total{};  ///< when the layers' forward times are not known
  std::string domain = "inside";            ///< or what was extrapolated to get these times
  std::optional<ModelErrors> modelled{};    ///< where times are those of a device model
  /// Multiprocessors of the GPU, where a device model or a profile knows them.
  std::optional<std::int64_t> multiprocessors{};
  Duration update{};        ///< the optimizer's part of the forward times
  Duration host{};          ///< what the host took a step, and a profiler with it; 0: not known
  double forward_wait = 0;  ///< share of the pass in which the GPU waits for the host
  double backward_wait = 0;
  std::optional<TrainingMemory> memory{};  ///< where a device model knows it
  std::optional<ArrayCopies> copies{};     ///< the same

  Duration forward() const;  ///< forward_total, or the sum over the layers
  Duration backward() const;
  std::int64_t params() const;
};

/// Reads and checks a trace file. Throws InputError.
Trace read_trace(const std::string& path);
/// The trace under `key`: a file, or else a shipped one by the name that `list` shows.
Trace read_trace(const Config& section, std::string_view key);
Trace parse_trace(const std::string& text, const std::string& file);
/// The file format's JSON, one layer per line.
std::string write_trace(const Trace& trace);

/// Scales all compute times alike so that forward plus backward is `total`.
void scale_compute(Trace& trace, Duration total);

/// Turns a workload's "model", "device", "batch" into a trace: implemented in models/.
class DeviceModel {
 public:
  static constexpr const char* kNoun = "device-model";
  virtual ~DeviceModel() = default;
  /// `bytes_per_value`: of activations and weights. Throws InputError through `request` for a model
  /// or device that it does not know.
  virtual Trace trace(const Config& request, std::int64_t bytes_per_value) const = 0;
};

/// A group of tensors that is sent as one at the least: a tensor, or a layer's tensors together.
struct GradientUnit {
  std::string name;
  std::int32_t layer = 0;  ///< index into the trace's layers
  Bytes bytes;
  Duration ready{};  ///< after the start of the backward pass
};
enum class Granularity { kTensor, kLayer };

/// The workload of a config: a trace and the type of its gradients.
struct Workload {
  Trace trace;
  std::int64_t bytes_per_param = 4;
  std::optional<std::int64_t> dataset_samples{};
  std::shared_ptr<const Overlap> overlap{};  ///< null: none costs anything
  /// Samples a second that a node's input pipeline has ready; none: as many as it takes.
  std::optional<double> input_rate{};

  /// In the order in which gradients become ready: layers from last to first, and within a layer
  /// the tensors from last to first.
  std::vector<GradientUnit> units(Granularity granularity) const;
};

/// Reads the "workload" section.
Workload read_workload(const Config& section);
/// Its keys.
const Params& workload_params();

}  // namespace steptime
