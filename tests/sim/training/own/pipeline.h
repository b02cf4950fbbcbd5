// A pipeline of stages, one forward and one backward (1F1B), with tensor and data groups and
// memory, as a program of its own on World and groups.
#pragma once
#include "sim/runtime/group.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace steptime {

/// What the stages of one pipeline share. Each stage is `tensor` ranks, of which one program
/// speaks.
struct Pipeline {
  Pipeline(World& w, int stages, Group& data_group) : world(w), data(data_group), memories(stages) {
    for (int s = 0; s <= stages; ++s) {
      activations.emplace_back(w, Name{"activations for stage", s});
      gradients.emplace_back(w, Name{"gradients for stage", s - 1});
    }
  }
  Task forward(std::size_t stage, int micro_batch) {
    if (stage > 0) co_await activations[stage].at_least(micro_batch + 1);
    memories[stage].acquire(1);
    co_await world.pause(std::chrono::milliseconds(1), {});
    activations[stage + 1].add();
  }
  Task backward(std::size_t stage, int micro_batch) {
    if (stage + 1 < memories.size()) co_await gradients[stage + 1].at_least(micro_batch + 1);
    co_await world.pause(std::chrono::milliseconds(2), {});
    memories[stage].release(1);
    gradients[stage].add();
  }
  /// Megatron-LM megatron/core/pipeline_parallel/schedules.py,
  /// forward_backward_pipelining_without_interleaving.
  Task rank(std::size_t stage, std::size_t member, int micro_batches) {
    const int warm_up = std::min(micro_batches, static_cast<int>(memories.size() - 1 - stage));
    for (int f = 0; f < warm_up; ++f)
      co_await forward(stage, f);
    for (int f = warm_up; f < micro_batches; ++f) {
      co_await forward(stage, f);
      co_await backward(stage, f - warm_up);
    }
    for (int b = micro_batches - warm_up; b < micro_batches; ++b)
      co_await backward(stage, b);
    computed = std::max(computed, world.now());
    co_await data.call(member, {1000});  // gradients are all-reduced among the replicas
  }
  World& world;
  Group& data;
  std::vector<Memory> memories;     ///< activations of micro-batches that a stage keeps
  std::deque<Counter> activations;  ///< that have come to a stage
  std::deque<Counter> gradients;    ///< to a stage from the one behind it
  Time computed{};
};

}  // namespace steptime
