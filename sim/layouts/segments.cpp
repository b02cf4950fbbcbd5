#include "sim/layouts/segments.h"

#include "sim/layouts/rank_states.h"

#include <algorithm>

namespace steptime {
namespace {

void add(Segment& segment, const Leg& leg) {
  segment.legs.push_back(&leg);
  segment.spent[static_cast<std::size_t>(leg.what)] += leg.compute;
  segment.length += std::max(leg.compute, leg.alone);
  if (leg.what == Spent::kScales) {
    segment.exchanging += leg.compute;
    ++segment.exchanges;
  }
  if (leg.exchange.collective == nullptr) return;
  const auto group = static_cast<std::size_t>(leg.exchange.group);
  segment.bytes[group] += leg.exchange.bytes.count;
  segment.exchanging += leg.alone;
  ++segment.exchanges;
  segment.spent[static_cast<std::size_t>(spent_on(leg.exchange.group))] +=
      std::max(Duration{}, leg.alone - leg.compute);
}

void add(Segment& segment, const Legs& legs) {
  for (const Leg& leg : legs)
    add(segment, leg);
}

/// Buckets that end at a layer or below it; they are in the order of the backward pass.
std::size_t first_of(const StageWork& stage, std::size_t layer) {
  std::size_t bucket = stage.buckets.size();
  while (bucket > 0 && stage.buckets[bucket - 1].first_layer <= layer)
    --bucket;
  return bucket;
}

bool is_cut_at(const StageWork& stage, std::size_t layer) {
  return std::any_of(stage.buckets.begin(), stage.buckets.end(),
                     [layer](const GradientBucket& b) { return b.first_layer == layer; });
}

}  // namespace

Spent spent_on(GroupKind group) {
  switch (group) {
    case GroupKind::kTensor:
      return Spent::kTensor;
    case GroupKind::kContext:
      return Spent::kContext;
    case GroupKind::kPipeline:
      return Spent::kPipeline;
    default:
      return Spent::kGradients;
  }
}

Segment rest_of(const Segment& segment, std::size_t over) {
  Segment rest{.needs = segment.needs, .makes = segment.makes};
  for (std::size_t leg = over; leg < segment.legs.size(); ++leg)
    add(rest, *segment.legs[leg]);
  return rest;
}

std::vector<Segment> forward_segments(const StageWork& stage, bool cut) {
  std::vector<Segment> pass{{.needs = stage.buckets.size()}};
  for (std::size_t l = 0; l < stage.layers.size(); ++l) {
    if (cut && is_cut_at(stage, l)) {
      if (l > 0) pass.emplace_back();
      pass.back().needs = first_of(stage, l);
    }
    add(pass.back(), stage.layers[l].forward);
  }
  return pass;
}

std::vector<Segment> backward_segments(const StageWork& stage, LegsOf of, bool cut) {
  std::vector<Segment> pass(1);
  for (std::size_t l = stage.layers.size(); l-- > 0;) {
    for (const auto legs : of)
      add(pass.back(), stage.layers[l].*legs);
    pass.back().needs = cut ? first_of(stage, l) : stage.buckets.size();
    if (!cut || !is_cut_at(stage, l)) continue;
    std::size_t made = first_of(stage, l);
    while (made < stage.buckets.size() && stage.buckets[made].first_layer == l)
      ++made;
    pass.back().makes = made;
    if (l > 0) pass.emplace_back();
  }
  return pass;
}

std::vector<ChunkPasses> passes_of(const LayoutPlan& plan, std::int32_t place,
                                   std::span<const Pass> order) {
  static constexpr Legs StageLayer::*kInput[] = {&StageLayer::backward};
  static constexpr Legs StageLayer::*kWeights[] = {&StageLayer::weights};
  static constexpr Legs StageLayer::*kBackward[] = {&StageLayer::backward, &StageLayer::weights};
  const bool is_cut = plan.states->gathering(plan.layout.pipeline() > 1).has_value();
  const bool updates = gathers_updates(plan);
  const auto has = [order](PassKind kind) {
    return std::any_of(order.begin(), order.end(), [kind](Pass p) { return p.kind == kind; });
  };
  const bool has_backward = has(PassKind::kBackward);
  const bool has_halves = has(PassKind::kInputGradient);
  std::vector<ChunkPasses> chunks;
  for (std::int32_t c = 0; c < plan.order->chunks(); ++c) {
    const StageWork& stage = plan.stage(place, c);
    ChunkPasses& chunk = chunks.emplace_back(
        ChunkPasses{.stage = &stage, .forward = forward_segments(stage, is_cut)});
    if (updates && !is_cut) chunk.first_forward = forward_segments(stage, true);
    if (has_backward) {
      chunk.backward = backward_segments(stage, kBackward, is_cut);
      chunk.last_backward = backward_segments(stage, kBackward, true);
    }
    if (has_halves) {
      chunk.input = backward_segments(stage, kInput, is_cut);
      chunk.weight = backward_segments(stage, kWeights, false);
      chunk.last_weight = backward_segments(stage, kWeights, true);
    }
  }
  return chunks;
}

}  // namespace steptime
