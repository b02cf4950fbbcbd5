#include "sim/mxnet/training_graph.h"

#include "sim/events/rank_timeline.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

void add_key(std::vector<std::int32_t>& keys, std::int32_t key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
}

/// The keys that hold tensors of each layer.
std::vector<std::vector<std::int32_t>> keys_by_layer(const StepPlan& plan, std::size_t layers,
                                                     std::span<const GradientUnit> units) {
  std::vector<std::vector<std::int32_t>> keys(layers);
  const auto count = static_cast<std::int32_t>(plan.buckets.size());
  for (std::int32_t b = 0; b < count; ++b) {
    const Bucket& bucket = plan.buckets[static_cast<std::size_t>(b)];
    for (const GradientUnit& unit : bucket.of(units))
      add_key(keys[static_cast<std::size_t>(unit.layer)], count - 1 - b);
  }
  return keys;
}

}  // namespace

Timeline::Details TrainingGraph::details(std::int32_t rank, std::int64_t step,
                                         std::optional<std::int32_t> key) const {
  if (!key) return {};
  const auto place = static_cast<std::size_t>(*key);
  const std::uint64_t flow = static_cast<std::uint64_t>(step) * keys.size() + place;
  return {.bucket = std::ssize(keys) - 1 - *key,  // keys are in forward order
          .tensors = keys[place].name,
          .flow = flow_of(rank, flow)};
}

TrainingGraph training_graph(const StepPlan& plan, const Workload& workload,
                             std::span<const GradientUnit> units, Duration startup,
                             std::int64_t bulk) {
  TrainingGraph graph{.after_backward = plan.after_backward};
  for (auto bucket = plan.buckets.rbegin(); bucket != plan.buckets.rend(); ++bucket) {
    const std::string& first = units[static_cast<std::size_t>(bucket->first_unit)].name;
    const Duration share = std::min(startup, bucket->cost);
    graph.keys.push_back(
        {bucket->units == 1 ? first : fmt::format("{} + {} more", first, bucket->units - 1),
         bucket->bytes,
         {share, bucket->cost - share}});
  }

  const std::vector<Layer>& layers = workload.trace.layers;
  const auto keys = keys_by_layer(plan, layers.size(), units);
  ComputeSegment segment;
  std::int64_t nodes = 0;
  const auto close = [&] {
    if (nodes > 0) graph.segments.push_back(std::move(segment));
    segment = {};
    nodes = 0;
  };
  const auto add = [&](std::size_t layer, Duration duration, bool is_backward) {
    if (nodes++ == 0) segment.name = layers[layer].name + (is_backward ? " backward" : " forward");
    segment.is_backward = is_backward;
    segment.duration += duration;
    for (const std::int32_t key : keys[layer])
      add_key(segment.keys, key);
  };

  const std::optional<Duration> total = workload.trace.forward_total;  // then in one segment
  for (std::size_t i = 0; i < layers.size(); ++i) {
    add(i, layers[i].forward, false);
    if (nodes == bulk && !total) close();
  }
  segment.duration += total.value_or(Duration{});
  close();
  graph.forward_segments = graph.segments.size();
  for (std::size_t i = layers.size(); i-- > 0;) {
    add(i, layers[i].backward, true);
    if (nodes == bulk || !layers[i].tensors.empty()) close();
  }
  close();
  return graph;
}

}  // namespace steptime
