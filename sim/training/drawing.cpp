#include "sim/training/drawing.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

std::string names_of(std::span<const GradientUnit> units) {
  std::string names;
  for (const GradientUnit& unit : units)
    names += (names.empty() ? "" : ", ") + unit.name;
  return names;
}

}  // namespace

Drawing::Drawing(const TrainingPlan& plan, Timeline* timeline) : plan_(plan), timeline_(timeline) {
  if (timeline == nullptr) return;
  const auto workers = static_cast<std::int32_t>(plan.trainers());
  const auto gpus = static_cast<std::int32_t>(plan.cluster.workers() / plan.trainers());
  // Nodes that meet at servers beyond draw their own (sim/training/kvstore_nodes.h).
  const std::int64_t servers = plan.aggregation.beyond ? 0 : plan.aggregation.servers.count;
  for (std::int64_t s = 0; s < servers; ++s)
    servers_.emplace_back(timeline, fmt::format("server {}", s));
  for (std::int32_t w = 0; w < workers; ++w) {
    // Of those that are alike, the first that is to be seen; else the first, with the slowest's
    // pace.
    std::int32_t rank = w * gpus;
    while (!plan.variation.any() && rank + 1 < (w + 1) * gpus && !timeline->shows_rank(rank))
      ++rank;
    workers_.emplace_back(timeline, rank);
  }
  steps_.resize(static_cast<std::size_t>(workers));
  if (plan.workload != nullptr) {
    for (const Bucket& bucket : plan.step.buckets)
      tensors_.push_back(names_of(bucket.of(plan.units)));
  }
  has_layers_ = workers == 1 && plan.workload != nullptr;
  if (has_layers_) {
    add_layers();
    return;
  }
  parts_ = {{"forward", plan.step.forward}, {"backward", plan.step.forward + plan.step.backward}};
}

void Drawing::add_layers() {
  const Trace& trace = plan_.workload->trace;
  Duration work{};
  if (trace.forward_total) {
    work = *trace.forward_total;
    parts_.push_back({"forward", work});
  } else {
    for (const Layer& layer : trace.layers)
      parts_.push_back({layer.name + " forward", work += layer.forward});
  }
  std::size_t unit = 0;
  for (std::size_t layer = trace.layers.size(); layer-- > 0;) {
    parts_.push_back({trace.layers[layer].name + " backward", work += trace.layers[layer].backward,
                      gradients_of(layer, unit)});
    while (unit < plan_.units.size() && static_cast<std::size_t>(plan_.units[unit].layer) == layer)
      ++unit;
  }
}

/// What the backward pass of a layer makes, its units from `first_unit` on; it flows into the
/// bucket that has the last of it.
Timeline::Details Drawing::gradients_of(std::size_t layer, std::size_t first_unit) const {
  Timeline::Details made;
  std::size_t behind = first_unit;
  for (; behind < plan_.units.size(); ++behind) {
    const GradientUnit& unit = plan_.units[behind];
    if (static_cast<std::size_t>(unit.layer) != layer) break;
    made.bytes = std::max<std::int64_t>(made.bytes, 0) + unit.bytes.count;
  }
  made.tensors = names_of(plan_.units.subspan(first_unit, behind - first_unit));
  const auto& buckets = plan_.step.buckets;
  if (behind == first_unit || buckets.empty()) return made;
  const auto last = std::upper_bound(
      buckets.begin(), buckets.end(), static_cast<std::int32_t>(behind - 1),
      [](std::int32_t unit, const Bucket& bucket) { return unit < bucket.first_unit; });
  made.bucket = last - buckets.begin() - 1;
  return made;
}

void Drawing::part(std::int32_t worker, std::int64_t step, const Part& part, Time start, Time end) {
  Timeline::Details details = part.details;
  if (details.bucket >= 0)
    details.flow = flow(worker, step, static_cast<std::int32_t>(details.bucket));
  workers_[static_cast<std::size_t>(worker)].add("compute", part.name, start, end,
                                                 std::move(details));
}

std::uint64_t Drawing::flow(std::int32_t worker, std::int64_t step, std::int32_t bucket) const {
  const auto buckets = static_cast<std::uint64_t>(plan_.step.buckets.size());
  return flow_of(worker,
                 static_cast<std::uint64_t>(step) * buckets + static_cast<std::uint64_t>(bucket));
}

void Drawing::gradient(std::int32_t worker, std::int64_t step, std::int32_t bucket, Time start,
                       Time end) {
  if (!has_layers_ && !plan_.update->sends_parameters())
    this->bucket(worker, step, "compute gradients", bucket, start, end);
}

void Drawing::bucket(std::int32_t worker, std::int64_t step, const char* lane, std::int32_t bucket,
                     Time start, Time end) {
  if (!is_on()) return;
  const auto b = static_cast<std::size_t>(bucket);
  workers_[static_cast<std::size_t>(worker)].add(
      lane, plan_.names[b], start, end,
      {plan_.step.buckets[b].bytes.count, bucket, tensors_.empty() ? "" : tensors_[b],
       flow(worker, step, bucket)});
}

void Drawing::began(std::int32_t worker, std::int64_t step) {
  if (is_on()) steps_[static_cast<std::size_t>(worker)] = step;
}

void Drawing::served(std::int32_t server, const char* what, std::int32_t client,
                     std::int32_t bucket, Time start, Time end) {
  servers_[static_cast<std::size_t>(server)].add(
      "thread", fmt::format("{} {}", what, plan_.names[static_cast<std::size_t>(bucket)]), start,
      end, {.flow = flow(client, bucket)});
}

void Drawing::pushed(const Exchanged& of, Time in) {
  bucket(of.client, steps_[static_cast<std::size_t>(of.client)], "push", of.bucket, of.push_sent,
         in);
}

void Drawing::pulled(const Exchanged& of, Time in) {
  bucket(of.client, steps_[static_cast<std::size_t>(of.client)], "pull", of.bucket, of.pull_sent,
         in);
}

}  // namespace steptime
