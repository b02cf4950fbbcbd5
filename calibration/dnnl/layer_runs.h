// A layer table's layers as oneDNN runs them, forward and backward, each on memory of its own.
#pragma once
#include "models/layer_table.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace steptime {

struct LayerRun {
  std::string name;
  std::function<void()> forward;
  std::function<void()> backward;
};

/// For batches of float32, on the CPU, in one thread's order. Throws InputError for a convolution
/// whose shape the table does not give.
std::vector<LayerRun> layer_runs(const std::vector<TableLayer>& layers, std::int64_t batch);

}  // namespace steptime
