// What comes of a pipeline order: earliest starts by sweeping over the ranks' lists, without an
// engine, a network or a rank's program.
#pragma once
#include "sim/layouts/pipeline_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace steptime {

/// Of one chunk, in any unit.
struct ChunkTimes {
  std::int64_t forward = 1;
  std::int64_t input_gradient = 1;
  std::int64_t weight_gradient = 1;
  std::int64_t of(PassKind kind) const {
    if (kind == PassKind::kForward) return forward;
    if (kind == PassKind::kInputGradient) return input_gradient;
    if (kind == PassKind::kWeightGradient) return weight_gradient;
    return input_gradient + weight_gradient;
  }
  std::int64_t all() const { return forward + input_gradient + weight_gradient; }
};

struct PipelineSweep {
  bool ends = false;  ///< false: some rank waits for ever
  std::int64_t makespan = 0;
  std::vector<std::int64_t>
      held;  ///< most forward passes of a rank without their weights' gradient
};

inline std::vector<Pass> passes_of(const PipelineOrder& order, const PipelineShape& shape,
                                   std::int32_t rank) {
  std::vector<Pass> list;
  for (std::int64_t k = 0; k < order.passes(shape, rank); ++k)
    list.push_back(order.pass(shape, rank, k));
  return list;
}

/// `latency` holds what a boundary between a stage and the next one takes, both ways; empty: none.
inline PipelineSweep sweep(const PipelineOrder& order, const PipelineShape& shape,
                           const ChunkTimes& times, const std::vector<std::int64_t>& latency = {}) {
  enum Way { kUp, kDown, kWeights };
  const std::int32_t last_stage = shape.ranks * order.chunks() - 1;
  std::map<std::tuple<Way, std::int32_t, std::int32_t>, std::int64_t> ended;  // stage, micro-batch
  const auto crossing = [&](std::int32_t lower_stage) {
    return latency.empty() ? 0 : latency.at(static_cast<std::size_t>(lower_stage));
  };
  PipelineSweep result{.held = std::vector<std::int64_t>(static_cast<std::size_t>(shape.ranks))};
  std::vector<std::vector<Pass>> lists;
  for (std::int32_t r = 0; r < shape.ranks; ++r)
    lists.push_back(passes_of(order, shape, r));
  std::vector<std::size_t> next(lists.size());
  std::vector<std::int64_t> free_at(lists.size());
  std::vector<std::int64_t> holds(lists.size());

  /// When what the pass needs is there, or -1 as long as it is not known.
  const auto ready = [&](std::int32_t stage, const Pass& pass) -> std::int64_t {
    std::int64_t at = 0;
    const auto needs = [&](Way way, std::int32_t of_stage, std::int64_t later) {
      const auto found = ended.find({way, of_stage, pass.micro_batch});
      at = found == ended.end() || at < 0 ? -1 : std::max(at, found->second + later);
    };
    if (pass.kind == PassKind::kForward) {
      if (stage > 0) needs(kUp, stage - 1, crossing(stage - 1));
    } else if (pass.kind == PassKind::kWeightGradient) {
      needs(kDown, stage, 0);
    } else {
      needs(kUp, stage, 0);
      if (stage < last_stage) needs(kDown, stage + 1, crossing(stage));
    }
    return at;
  };

  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < lists.size(); ++r) {
      for (; next[r] < lists[r].size(); ++next[r]) {
        const Pass& pass = lists[r][next[r]];
        const std::int32_t stage = pass.chunk * shape.ranks + static_cast<std::int32_t>(r);
        const std::int64_t at = ready(stage, pass);
        if (at < 0) break;
        free_at[r] = std::max(free_at[r], at) + times.of(pass.kind);
        const bool up = pass.kind == PassKind::kForward;
        const bool weights = pass.kind == PassKind::kWeightGradient;
        ended[{up ? kUp : weights ? kWeights : kDown, stage, pass.micro_batch}] = free_at[r];
        if (up) result.held[r] = std::max(result.held[r], ++holds[r]);
        if (weights || pass.kind == PassKind::kBackward) --holds[r];
        moved = true;
      }
    }
  }
  result.ends = true;
  for (std::size_t r = 0; r < lists.size(); ++r) {
    result.ends = result.ends && next[r] == lists[r].size();
    result.makespan = std::max(result.makespan, free_at[r]);
  }
  return result;
}

/// Whether every rank makes each pass of each micro-batch and chunk exactly once, and takes the
/// micro-batches of a chunk in turn.
inline bool makes_each_once(const PipelineOrder& order, const PipelineShape& shape) {
  for (std::int32_t r = 0; r < shape.ranks; ++r) {
    std::map<std::pair<std::int32_t, char>, std::int32_t> made;  // chunk; F, I or W
    const auto is_next = [&made](const Pass& pass, char part) {
      return pass.micro_batch == made[{pass.chunk, part}]++;
    };
    for (const Pass& pass : passes_of(order, shape, r)) {
      const bool both = pass.kind == PassKind::kBackward;
      if (pass.chunk < 0 || pass.chunk >= order.chunks()) return false;
      if (pass.kind == PassKind::kForward && !is_next(pass, 'F')) return false;
      if ((both || pass.kind == PassKind::kInputGradient) && !is_next(pass, 'I')) return false;
      if ((both || pass.kind == PassKind::kWeightGradient) && !is_next(pass, 'W')) return false;
    }
    if (std::ssize(made) != std::int64_t{3} * order.chunks()) return false;
    for (const auto& [part, count] : made) {
      if (count != shape.micro_batches) return false;
    }
  }
  return true;
}

/// No order ends before: rank r waits for r forward passes, works, and its last input gradient goes
/// down r ranks more, of which the first one then makes a weights' gradient.
inline std::int64_t earliest_makespan(const PipelineOrder& order, const PipelineShape& shape,
                                      const ChunkTimes& times) {
  const std::int64_t n = std::int64_t{shape.micro_batches} * order.chunks();
  const std::int64_t r = shape.ranks - 1;
  const std::int64_t way = r * (times.forward + times.input_gradient);
  const std::int64_t critical = times.forward + times.input_gradient;
  return std::max(r * times.forward + n * times.all(), way + n * critical + times.weight_gradient);
}

/// The passes of a rank in one line: "F0 F1.1 B0 I2 W2", ".1" being the chunk.
inline std::string text_of(const PipelineOrder& order, const PipelineShape& shape,
                           std::int32_t rank) {
  std::string text;
  for (const Pass& pass : passes_of(order, shape, rank)) {
    if (!text.empty()) text += ' ';
    text += "FBIW"[static_cast<int>(pass.kind)] + std::to_string(pass.micro_batch);
    if (order.chunks() > 1) text += '.' + std::to_string(pass.chunk);
  }
  return text;
}

inline void PrintTo(const Pass& pass, std::ostream* out) {
  *out << "FBIW"[static_cast<int>(pass.kind)] << pass.micro_batch << '.' << pass.chunk;
}

}  // namespace steptime
