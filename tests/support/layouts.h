// Layouts for tests: plans with known times.
#pragma once
#include "sim/collective/collective.h"
#include "sim/core/fast_paths.h"
#include "sim/events/timeline.h"
#include "sim/layouts/group_collectives.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/play.h"
#include "sim/servers/aggregation.h"
#include "tests/support/config_text.h"
#include "tests/support/pipeline_sweep.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// A collective of a + b M for each operation.
inline GroupCosts costs_of(Duration a, double seconds_per_byte) {
  const auto cost = [&] {
    return std::make_shared<LinearCollective>(LinearCost{a, {seconds_per_byte}});
  };
  return {cost(), cost(), cost(), cost(), cost()};
}

/// The degrees and the parts of a plan for tests.
struct TestLayout {
  Coordinates degrees{1, 1, 1, 1};  ///< tensor, context, data, pipeline
  std::array<Dimension, kDimensions> order_of_ranks{Dimension::kTensor, Dimension::kContext,
                                                    Dimension::kData, Dimension::kPipeline};
  std::string order = R"({"type": "1f1b"})";
  std::string states = R"({"type": "replicated"})";
  std::string recompute = R"({"type": "none"})";
  std::string context = R"({"type": "ring"})";
  std::string schedule = R"({"type": "wfbp", "granularity": "layer"})";
  std::vector<std::int64_t> stages{};  ///< blocks of each; empty: evenly
  std::int32_t micro_batches = 1;
  BesideCompute beside{};
  bool sequence_parallel = false;
  GroupCosts costs = costs_of({}, 0);        ///< of all groups, where there is no cluster
  std::shared_ptr<const Cluster> cluster{};  ///< whose rings the groups are
  bool plays_messages = false;
  std::shared_ptr<const Collective> maxima{};  ///< of all ranks of a place
};

inline LayoutPlan plan_of(const TestLayout& test, ModelWork work) {
  LayoutPlan plan{.layout = {test.degrees, test.order_of_ranks},
                  .order = make<PipelineOrder>(test.order),
                  .states = make<States>(test.states),
                  .beside = test.beside,
                  .micro_batches = test.micro_batches,
                  .work = std::move(work)};
  plan.maxima = test.maxima;
  if (test.plays_messages) plan.roads = &messages_on_links();
  if (test.cluster != nullptr) {
    static const Params params{{.key = "aggregation",
                                .kind = Kind::kObject,
                                .need = Need::kDefault,
                                .fallback = Json{{"type", "all-reduce"}},
                                .choice = Aggregation::kNoun},
                               {.key = "layout", .kind = Kind::kAny, .need = Need::kOptional}};
    const auto backend = make<Backend>(R"({"type": "device"})");
    place_groups(plan, config_of("{}", params), *backend, test.cluster);
  } else {
    plan.groups.fill(test.costs);
    plan.hops.assign(static_cast<std::size_t>(plan.layout.pipeline()), {test.costs.send});
  }
  const std::int64_t stages = std::int64_t{plan.layout.pipeline()} * plan.order->chunks();
  std::vector<std::int64_t> layers(static_cast<std::size_t>(stages), plan.work.blocks() / stages);
  if (!test.stages.empty()) layers = test.stages;
  const auto recomputation = make<Recomputation>(test.recompute);
  const auto context = make<ContextExchange>(test.context);
  const auto schedule = make<Schedule>(test.schedule);
  plan_stages(plan, {.layers = layers,
                     .recomputation = *recomputation,
                     .context = *context,
                     .schedule = *schedule,
                     .has_schedule = true,
                     .sequence_parallel = test.sequence_parallel});
  return plan;
}

/// So many blocks of these lengths in ps, with a parameter each.
inline ModelWork work_of_blocks(std::int64_t blocks, const ChunkTimes& lengths,
                                std::int64_t params = 1) {
  ModelWork work{.parameter = {.weight = 1, .gradient = 1}};
  for (std::int64_t b = 0; b < blocks; ++b) {
    work.layers.push_back({.name = "block " + std::to_string(b),
                           .forward = Duration(lengths.forward),
                           .input_gradient = Duration(lengths.input_gradient),
                           .weight_gradient = Duration(lengths.weight_gradient),
                           .tensors = {{"w", params}}});
  }
  return work;
}

/// By programs alone, whose every exchange is a call.
inline LayoutTimes only_programs(const LayoutPlan& plan) {
  const WithoutFastPaths none;
  return play_layout(plan);
}

/// The step by fast paths, by programs whose exchanges pass as times, as for one that is drawn, and
/// by programs alone.
inline std::array<LayoutTimes, 3> in_every_way(const LayoutPlan& plan) {
  Timeline timeline;
  return {play_layout(plan), play_layout(plan, &timeline), only_programs(plan)};
}
/// How long its step takes, ps; -1 where ways differ.
inline std::int64_t step_in_every_way(const LayoutPlan& plan) {
  const std::array<LayoutTimes, 3> all = in_every_way(plan);
  const Duration step = all.front().step;
  const bool is_one = std::all_of(all.begin(), all.end(),
                                  [step](const LayoutTimes& times) { return times.step == step; });
  return is_one ? step.count() : -1;
}

}  // namespace steptime
