#include "netmodels/trees/gpu_tree_program.h"

#include <algorithm>
#include <cstddef>

namespace steptime {

GpuTreeProgram::GpuTreeProgram(const ReduceTree& tree, Rank ranks, Slice data, Way way)
    : ops_(static_cast<std::size_t>(ranks)) {
  auto levels = tree.copies();
  if (way != Way::kDown) {
    for (const auto& level : levels) {
      for (const GpuCopy& copy : level)
        add(copy.from, copy.to, data, true);
    }
  }
  if (way == Way::kUp) return;
  std::reverse(levels.begin(), levels.end());
  for (const auto& level : levels) {
    for (const GpuCopy& copy : level)
      add(copy.to, copy.from, data, false);
  }
}

void GpuTreeProgram::add(Rank from, Rank to, Slice data, bool reduce) {
  auto& sender = ops_[static_cast<std::size_t>(from)];
  auto& receiver = ops_[static_cast<std::size_t>(to)];
  const auto sends_in = static_cast<std::int32_t>(sender.size());
  const auto receives_in = static_cast<std::int32_t>(receiver.size());
  sender.push_back({.send = {.first = to, .count = 1, .step = receives_in, .slice = data}});
  receiver.push_back(
      {.recv = {.first = from, .count = 1, .step = sends_in, .slice = data}, .reduce = reduce});
  ++messages_;
}

}  // namespace steptime
