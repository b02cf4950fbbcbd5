#include "sim/training/drawing.h"

#include <string>

#include <fmt/format.h>

namespace steptime {

Drawing::Drawing(const TrainingPlan& plan, Timeline* timeline) : plan_(plan), timeline_(timeline) {
  if (timeline == nullptr) return;
  const auto workers = static_cast<std::int32_t>(plan.trainers());
  const auto gpus = static_cast<std::int32_t>(plan.cluster.workers() / plan.trainers());
  // Nodes that meet at servers beyond draw their own (sim/training/kvstore_nodes.h).
  const std::int64_t servers = plan.aggregation.beyond ? 0 : plan.aggregation.servers.count;
  for (std::int64_t s = 0; s < servers; ++s)
    servers_.emplace_back(timeline, fmt::format("server {}", s));
  for (std::int32_t w = 0; w < workers; ++w)
    workers_.emplace_back(timeline, w * gpus);
  steps_.resize(static_cast<std::size_t>(workers));
}

void Drawing::compute(std::int32_t worker, const char* pass, Time start, Time end) {
  if (is_on()) workers_[static_cast<std::size_t>(worker)].add("compute", pass, start, end);
}

std::uint64_t Drawing::flow(std::int32_t worker, std::int64_t step, std::int32_t bucket) const {
  const auto buckets = static_cast<std::uint64_t>(plan_.step.buckets.size());
  return flow_of(worker,
                 static_cast<std::uint64_t>(step) * buckets + static_cast<std::uint64_t>(bucket));
}

void Drawing::gradient(std::int32_t worker, std::int64_t step, std::int32_t bucket, Time start,
                       Time end) {
  if (!plan_.update->sends_parameters())
    this->bucket(worker, step, "compute gradients", bucket, start, end);
}

void Drawing::bucket(std::int32_t worker, std::int64_t step, const char* lane, std::int32_t bucket,
                     Time start, Time end) {
  if (!is_on()) return;
  const auto b = static_cast<std::size_t>(bucket);
  workers_[static_cast<std::size_t>(worker)].add(
      lane, plan_.names[b], start, end,
      {plan_.step.buckets[b].bytes.count, bucket, "", flow(worker, step, bucket)});
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
