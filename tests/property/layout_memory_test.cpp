// Random layouts: the most that a rank holds at a time is the closed form of its order, its states
// and its recomputation, and what the ranks of a shard group hold together is one copy.
#include "sim/layouts/play.h"
#include "tests/support/drawn_layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// Forward passes whose activations rank r of p holds at most, of m micro-batches; interleaved: of
/// one of v chunks each. Source: pipelines' own, see schedulers/pipeline_orders/.
std::int64_t passes_held(const DrawnLayout& drawn, std::int64_t r) {
  const std::int64_t p = drawn.places();
  const std::int64_t m = drawn.micro_batches();
  const std::int64_t v = drawn.chunks;
  if (drawn.order == "gpipe") return m;
  if (drawn.order == "1f1b") return std::min(p - r, m);
  if (drawn.order == "zb-h1") return std::min(p, m);
  return std::min(m * v, 2 * (p - r - 1) + (v - 1) * drawn.group + 1);
}

/// Bytes of so many parameters on a rank that holds one of so many parts.
std::int64_t part(std::int64_t params, std::int64_t each, std::int64_t parts) {
  return (params * each + parts - 1) / parts;
}

/// Into how many parts weights, gradients and the optimizer's states are cut.
StateParts parts_of(const DrawnLayout& drawn) {
  using Cut = DrawnLayout::Cut;
  return {.weights = drawn.cut == Cut::kAll ? drawn.shards : 1,
          .gradients = drawn.cut >= Cut::kGradients ? drawn.shards : 1,
          .optimizer = drawn.cut >= Cut::kOptimizer ? drawn.shards : 1};
}

std::int64_t states_of(const DrawnLayout& drawn, std::int64_t params) {
  const StateParts parts = parts_of(drawn);
  const ParameterBytes& bytes = drawn.work.parameter;
  return part(params, bytes.weight, parts.weights) + part(params, bytes.gradient, parts.gradients) +
         part(params, bytes.optimizer, parts.optimizer);
}

/// Bytes that a layer keeps between its passes, and while it is computed again beside that.
std::int64_t kept(const DrawnLayout& drawn, const LayerWork& layer) {
  switch (drawn.again_of(layer)) {
    case Recomputed::kLayer:
      return layer.kept_input.count;
    case Recomputed::kAttention:
      return (layer.kept - layer.kept_attention).count;
    default:
      return layer.kept.count;
  }
}
std::int64_t working(const DrawnLayout& drawn, const LayerWork& layer) {
  switch (drawn.again_of(layer)) {
    case Recomputed::kLayer:
      return (layer.kept - layer.kept_input).count;
    case Recomputed::kAttention:
      return layer.kept_attention.count;
    default:
      return 0;
  }
}

/// Units that are there at a time.
std::int64_t at_once(const DrawnLayout& drawn) {
  return drawn.test.beside.weights ? drawn.units.at_once : 1;
}

/// Units of equal stages, without an embedding or a loss, so that all chunks and units are alike.
void make_alike(DrawnLayout& drawn) {
  const std::int64_t of_stage = any(2, 3);
  drawn.test.stages.assign(static_cast<std::size_t>(drawn.stages()), of_stage);
  std::vector<LayerWork>& layers = drawn.work.layers;
  std::erase_if(layers, [](const LayerWork& layer) { return !layer.is_block; });
  drawn.has_ends = false;
  drawn.work.tied_params = 0;
  drawn.work.logits = {};
  const LayerWork block = layers.front();
  layers.assign(static_cast<std::size_t>(drawn.stages() * of_stage), block);
  drawn.every = 1;
  if (drawn.again == Recomputed::kLayer) drawn.test.recompute = R"({"type": "full"})";
  if (drawn.cut != DrawnLayout::Cut::kAll) return;
  drawn.units.blocks = 1;
  drawn.test.states = fmt::format(
      R"({{"type": "fsdp", "reshard": {}, "prefetch": "{}", "gathers": {}, "shard_group": {}}})",
      drawn.units.reshards, drawn.units.prefetches ? "backward" : "none", drawn.units.at_once,
      drawn.shards);
}

/// Bytes of rank r at its peak.
//
// Most passes are held when the first backward pass begins, or with ZB-H1 the first inputs' pass
// that weights' gradients follow. A rank of the last stage holds logits for each of them. Weights
// of units that are let go between the passes: in the last forward pass before, so many as are
// gathered at a time, of its n units and the first of the backward pass; in the backward pass,
// where a layer is computed again beside that, two with prefetch. Kept weights are all there.
std::int64_t peak_of(const DrawnLayout& drawn, std::int64_t r) {
  std::int64_t params = 0, kept_of_all = 0, most_working = 0;
  for (std::int64_t c = 0; c < drawn.chunks; ++c) {
    const std::int64_t stage = c * drawn.places() + r;
    params += drawn.params_of_stage(stage);
    for (const LayerWork* layer : drawn.layers(stage)) {
      kept_of_all += kept(drawn, *layer);
      most_working = std::max(most_working, working(drawn, *layer));
    }
  }
  std::int64_t of_pass = kept_of_all / drawn.chunks;
  if (r + 1 == drawn.places()) of_pass += drawn.work.logits.count;
  std::int64_t beside = most_working;
  if (drawn.cut == DrawnLayout::Cut::kAll && drawn.shards > 1) {
    const std::int64_t n = drawn.test.stages.front();
    const std::int64_t unit = drawn.work.layers.front().params() * drawn.work.parameter.weight;
    const std::int64_t most = at_once(drawn);
    const std::int64_t back = drawn.units.prefetches ? std::min<std::int64_t>(2, most) : 1;
    beside = drawn.units.reshards
                 ? std::max(std::min(most, n + 1) * unit, most_working + back * unit)
                 : most_working + params * drawn.work.parameter.weight;
  }
  return drawn.work.context.count + states_of(drawn, params) + passes_held(drawn, r) * of_pass +
         beside;
}

// As times, called one by one, and in messages. What is sent for a micro-batch takes no bytes, as
// when it comes depends on times.
RC_GTEST_PROP(LayoutMemory, ThePeakIsTheClosedForm, ()) {
  DrawnLayout drawn;
  drawn.work.exchanged = {};
  drawn.work.context = {any(0, 9)};
  const bool gathers = drawn.cut == DrawnLayout::Cut::kAll && drawn.shards > 1;
  if (drawn.order == "interleaved" || gathers) make_alike(drawn);
  const auto ways = in_every_way(plan_of(drawn.test, drawn.work));
  std::vector<LayoutTimes> played(ways.begin(), ways.end());
  drawn.test.cluster = nodes_of(drawn.tensor() * drawn.sharers() * drawn.places());
  drawn.test.plays_messages = true;
  played.push_back(play_layout(plan_of(drawn.test, drawn.work)));
  for (const LayoutTimes& times : played) {
    for (std::int64_t r = 0; r < drawn.places(); ++r)
      RC_ASSERT(times.ranks[static_cast<std::size_t>(r)].peak == peak_of(drawn, r));
  }
}

// On one place of a pipeline, units of any sizes. Gathered at a time are so many units at most, one
// behind the other in the order of the forward pass, behind which the backward pass's first one is
// gathered, too; in the backward pass, with prefetch, no more than two of the same neighbours.
RC_GTEST_PROP(LayoutMemory, GatheredIsTheLargestRunOfUnits, ()) {
  DrawnLayout drawn;
  drawn.order = "1f1b";
  drawn.test.order = R"({"type": "1f1b"})";
  drawn.test.degrees = {1, 1, any(2, 4), 1};
  drawn.test.sequence_parallel = false;
  drawn.has_ends = false;
  drawn.work = work_of_blocks(any(1, 5), {any(1, 40), any(1, 40), any(1, 40)});
  for (LayerWork& layer : drawn.work.layers)
    layer.tensors = {{"w", any(1, 50)}};
  drawn.test.stages = {std::ssize(drawn.work.layers)};
  const std::int64_t gathers = any(1, 3);
  drawn.units.at_once = gathers;
  drawn.test.states = fmt::format(R"({{"type": "fsdp", "prefetch": "{}", "gathers": {}}})",
                                  either() ? "backward" : "none", gathers);
  std::vector<std::int64_t> visits;  // weights of 1 B a parameter, through to the backward pass's
  for (const LayerWork& layer : drawn.work.layers)
    visits.push_back(layer.params());
  visits.push_back(visits.back());
  std::int64_t most = 0;
  for (auto from = visits.begin(); from + 1 != visits.end(); ++from) {
    const auto run = std::min<std::int64_t>(at_once(drawn), visits.end() - from);
    most = std::max(most, std::accumulate(from, from + run, std::int64_t{0}));
  }
  const LayoutTimes times = play_layout(plan_of(drawn.test, drawn.work));
  const std::int64_t params = std::accumulate(visits.begin(), visits.end() - 1, std::int64_t{0});
  const std::int64_t d = drawn.sharers();
  RC_ASSERT(times.ranks[0].peak == 2 * part(params, 1, d) + most);
}

// What is cut is there once in all ranks that share it, but for what the last of them is padded
// with; what is not, on each of them.
RC_GTEST_PROP(LayoutMemory, PartsAreOneCopyTogether, ()) {
  const DrawnLayout drawn;
  const StateParts parts = parts_of(drawn);
  const LayoutTimes times = play_layout(plan_of(drawn.test, drawn.work));
  for (std::int64_t r = 0; r < drawn.places(); ++r) {
    std::int64_t params = 0;
    for (std::int64_t c = 0; c < drawn.chunks; ++c)
      params += drawn.params_of_stage(c * drawn.places() + r);
    const auto expect_one_copy = [&](HeldFor what, std::int64_t each, std::int64_t into) {
      const std::int64_t held =
          times.ranks[static_cast<std::size_t>(r)].at_peak[static_cast<std::size_t>(what)];
      RC_ASSERT(held * into >= params * each);
      RC_ASSERT(held * into < params * each + into);
    };
    expect_one_copy(HeldFor::kWeights, drawn.work.parameter.weight, parts.weights);
    expect_one_copy(HeldFor::kGradients, drawn.work.parameter.gradient, parts.gradients);
    expect_one_copy(HeldFor::kOptimizer, drawn.work.parameter.optimizer, parts.optimizer);
  }
}

}  // namespace
}  // namespace steptime
