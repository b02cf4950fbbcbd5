// `steptime calibrate compute`: what the layers of a model take on this machine, forward and
// backward, written as a trace. A backend is the library that runs them.
#pragma once
#include "models/layer_table.h"
#include "sim/command/cli.h"
#include "sim/core/error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace steptime {

struct LayerRun {
  std::string name;
  std::function<void()> forward;
  std::function<void()> backward;
};

class ComputeBackend {
 public:
  virtual ~ComputeBackend() = default;
  /// A layer table's layers. What it returns lives no longer than the backend. Throws InputError
  /// for a layer that it cannot run.
  virtual std::vector<LayerRun> layer_runs(const std::vector<TableLayer>& layers,
                                           std::int64_t batch) = 0;
  /// Marks the moment at which all that was begun so far is done.
  virtual void mark() = 0;
  /// Seconds from each mark to the next, and forgets them.
  virtual std::vector<double> laps() = 0;
  /// "Tesla V100-SXM2-16GB"
  virtual std::string device() const = 0;
  /// "oneDNN 2.6.3"
  virtual std::string library() const = 0;
  /// What its seconds are: "CPU time of one thread".
  virtual std::string time() const = 0;
};

/// The largest kernel that a pooling layer's table stands for is unknown: windows that do not
/// overlap, of as many values as make one of the output.
inline std::int64_t pooling_window(const TableLayer& layer) {
  return layer.input > layer.output ? layer.input / layer.output : 1;
}

/// `name` is what --backend calls it. `make_backend` takes the precision of values and products,
/// and throws InputError for one that it does not have.
using MakeBackend = std::function<std::unique_ptr<ComputeBackend>(const std::string& precision)>;
Exit calibrate_compute(const std::string& name, const MakeBackend& make_backend,
                       std::span<const std::string> args, const Terminal& terminal);

}  // namespace steptime
