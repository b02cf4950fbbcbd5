// Layouts for tests: plans with known times, and an independent account of a pipeline's order.
#pragma once
#include "sim/collective/collective.h"
#include "sim/layouts/plan.h"
#include "tests/support/config_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace steptime {

/// Of a stage's chunk, in ps.
struct PassLengths {
  std::int64_t forward = 1;
  std::int64_t input = 1;
  std::int64_t weight = 1;
};

/// What an order takes when a pass begins as soon as its rank is free and what it needs is there.
/// Written without the program's ranks: a sweep over the lists of passes until nothing moves.
struct SweptOrder {
  bool ends = false;  ///< every pass was made, each once
  std::int64_t makespan = 0;
  std::int64_t held = 0;  ///< micro-batches of chunks on rank 0 whose backward pass is to come
};
inline SweptOrder sweep_order(const PipelineOrder& order, const PipelineShape& shape,
                              const PassLengths& lengths, std::int64_t latency = 0) {
  const std::int32_t stages = shape.ranks * order.chunks();
  using Key = std::tuple<PassKind, std::int32_t, std::int32_t>;  // kind, stage, micro-batch
  std::map<Key, std::int64_t> ends;
  std::vector<std::int64_t> next(static_cast<std::size_t>(shape.ranks)), free(next);
  SweptOrder swept;
  std::int64_t held = 0;
  bool repeats = false;
  for (bool moves = true; moves;) {
    moves = false;
    for (std::int32_t r = 0; r < shape.ranks; ++r) {
      auto& k = next[static_cast<std::size_t>(r)];
      while (k < order.passes(shape, r)) {
        const Pass pass = order.pass(shape, r, k);
        const std::int32_t s = pass.chunk * shape.ranks + r;
        std::vector<std::pair<Key, std::int64_t>> needs;
        std::int64_t length = lengths.forward;
        const bool is_backward =
            pass.kind == PassKind::kBackward || pass.kind == PassKind::kInputGradient;
        if (pass.kind == PassKind::kForward && s > 0)
          needs.push_back({{PassKind::kForward, s - 1, pass.micro_batch}, latency});
        if (is_backward) {
          needs.push_back({{PassKind::kForward, s, pass.micro_batch}, 0});
          if (s + 1 < stages) needs.push_back({{pass.kind, s + 1, pass.micro_batch}, latency});
          length = lengths.input + (pass.kind == PassKind::kBackward ? lengths.weight : 0);
        }
        if (pass.kind == PassKind::kWeightGradient) {
          needs.push_back({{PassKind::kInputGradient, s, pass.micro_batch}, 0});
          length = lengths.weight;
        }
        std::int64_t start = free[static_cast<std::size_t>(r)];
        bool is_ready = true;
        for (const auto& [key, more] : needs) {
          const auto found = ends.find(key);
          is_ready = is_ready && found != ends.end();
          if (found != ends.end()) start = std::max(start, found->second + more);
        }
        if (!is_ready) break;
        const bool is_new =
            ends.emplace(Key{pass.kind, s, pass.micro_batch}, start + length).second;
        repeats = repeats || !is_new;
        free[static_cast<std::size_t>(r)] = start + length;
        swept.makespan = std::max(swept.makespan, start + length);
        if (r == 0 && pass.kind == PassKind::kForward) ++held;
        if (r == 0 && is_backward) --held;
        swept.held = std::max(swept.held, held);
        ++k;
        moves = true;
      }
    }
  }
  const auto kinds =
      ends.empty() || std::get<0>(ends.rbegin()->first) == PassKind::kBackward ? 2 : 3;
  swept.ends = !repeats && ends.size() == static_cast<std::size_t>(kinds) *
                                              static_cast<std::size_t>(stages) *
                                              static_cast<std::size_t>(shape.micro_batches);
  return swept;
}

/// A collective of a + b M that every operation costs.
inline GroupCosts costs_of(Duration a, double seconds_per_byte) {
  const auto cost = std::make_shared<LinearCollective>(LinearCost{a, {seconds_per_byte}});
  return {cost, cost, cost, cost, cost};
}

/// The degrees and the parts of a plan for tests.
struct TestLayout {
  Coordinates degrees{1, 1, 1, 1};  ///< tensor, context, data, pipeline
  std::string order = R"({"type": "1f1b"})";
  std::string states = R"({"type": "replicated"})";
  std::string recompute = R"({"type": "none"})";
  std::string context = R"({"type": "ring"})";
  std::string schedule = R"({"type": "wfbp", "granularity": "layer"})";
  std::int32_t micro_batches = 1;
  BesideCompute beside{};
  bool sequence_parallel = false;
  GroupCosts costs = costs_of({}, 0);  ///< of all groups
};

/// Blocks that are alike are shared out evenly.
inline LayoutPlan plan_of(const TestLayout& test, ModelWork work) {
  LayoutPlan plan{
      .layout = {test.degrees,
                 {Dimension::kTensor, Dimension::kContext, Dimension::kData, Dimension::kPipeline}},
      .order = make<PipelineOrder>(test.order),
      .states = make<States>(test.states),
      .beside = test.beside,
      .micro_batches = test.micro_batches,
      .work = std::move(work)};
  plan.groups.fill(test.costs);
  const std::int64_t stages = std::int64_t{plan.layout.pipeline()} * plan.order->chunks();
  const std::vector<std::int64_t> layers(static_cast<std::size_t>(stages),
                                         plan.work.blocks() / stages);
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
inline ModelWork work_of_blocks(std::int64_t blocks, const PassLengths& lengths,
                                std::int64_t params = 1) {
  ModelWork work{.parameter = {.weight = 1, .gradient = 1}};
  for (std::int64_t b = 0; b < blocks; ++b) {
    work.layers.push_back({.name = "block " + std::to_string(b),
                           .forward = Duration(lengths.forward),
                           .input_gradient = Duration(lengths.input),
                           .weight_gradient = Duration(lengths.weight),
                           .tensors = {{"w", params}}});
  }
  return work;
}

}  // namespace steptime
