// A training step as a dependency engine sees it: compute segments, and the keys that they read
// (weights, in the forward pass) and write (gradients, in the backward pass).
//
// Forward segments are bulks of layers. A backward segment ends at a layer with tensors, so that
// every gradient appears when its own layer is done.
// Source: apache/mxnet 1.3.1 src/executor/graph_executor.cc, MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN.
#pragma once
#include "sim/core/units.h"
#include "sim/events/timeline.h"
#include "sim/step/step.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

struct ComputeSegment {
  std::string name;
  Duration duration{};
  bool is_backward = false;
  std::vector<std::int32_t> keys;  ///< weights read, or gradients written

  /// Of those that it ends with.
  std::optional<std::int32_t> first_gradient() const {
    return is_backward && !keys.empty() ? std::optional(keys.front()) : std::nullopt;
  }
};

/// What an all-reduce costs in closed form.
struct AllReduceCost {
  Duration startup{};
  Duration work{};  ///< shared with the collectives that run at the same time
};

/// What is communicated as one: a bucket of the schedule. Keys are numbered in forward order.
struct GradientKey {
  std::string name;
  Bytes bytes;
  AllReduceCost cost{};
};

struct TrainingGraph {
  std::vector<ComputeSegment> segments;  ///< forward, then backward
  std::size_t forward_segments = 0;
  std::vector<GradientKey> keys;
  bool after_backward = false;  ///< every key waits for the end of the backward pass

  /// What a timeline tells of all that is done to a key on a rank, from its gradient on: its flow.
  /// No key: nothing.
  Timeline::Details details(std::int32_t rank, std::int64_t step,
                            std::optional<std::int32_t> key) const;
};

/// `bulk`: most layers of a segment.
TrainingGraph training_graph(const StepPlan& plan, const Workload& workload,
                             std::span<const GradientUnit> units, Duration startup,
                             std::int64_t bulk);

}  // namespace steptime
