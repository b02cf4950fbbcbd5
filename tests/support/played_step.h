// A step as the program of a worker that stands for all plays it, beside its closed form.
#pragma once
#include "sim/events/timeline.h"
#include "sim/step/step.h"
#include "sim/training/play.h"
#include "tests/support/config_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace steptime {

/// Of the last of `steps` steps; `workload` and `units`, of which the plan is, are drawn.
inline StepTimes played_step(const StepPlan& step, std::int64_t steps, Timeline* timeline = nullptr,
                             std::shared_ptr<const Workload> workload = nullptr,
                             std::span<const GradientUnit> units = {}) {
  const auto bucket_of = [step](Bytes bytes) {
    const auto found = std::find_if(step.buckets.begin(), step.buckets.end(),
                                    [&](const Bucket& bucket) { return bucket.bytes == bytes; });
    return static_cast<std::size_t>(found - step.buckets.begin());
  };
  TrainingPlan plan{.cluster = {.nodes = step.buckets.empty() ? 1 : 2, .gpus_per_node = 1}};
  plan.aggregation.inside = std::make_shared<LinearCollective>(LinearCost{});
  plan.update = make<Update>(R"({"type": "sgd"})");
  plan.transport = make<Transport>(R"({"type": "mpi"})");
  plan.inside_time = [=](Bytes bytes) { return step.buckets[bucket_of(bytes)].cost; };
  if (!step.beside.empty())
    plan.beside = [=](Bytes bytes) { return step.beside[bucket_of(bytes)]; };
  plan.step = step;
  plan.workload = std::move(workload);
  plan.units = units;
  for (const Bucket& bucket : step.buckets) {
    const auto first = static_cast<std::size_t>(bucket.first_unit);
    plan.names.push_back(units.empty() ? "" : units[first].name);
  }
  plan.pieces.resize(step.buckets.size());
  plan.needed.resize(step.buckets.size());
  plan.steps = steps;
  const TrainingTimes times = play_programs(plan, 1, nullptr, timeline);

  const auto ps = [](double seconds) { return Duration(std::llround(seconds * 1e12)); };
  std::vector<Duration> ends(step.buckets.size());
  StepTimes played{.step = ps(times.step_s), .exposed_input = ps(times.input_s)};
  for (const TrainingTimes::Sent& sent : times.sent) {
    played.comm_busy += sent.end - sent.start;
    for (const std::int32_t bucket : sent.buckets)
      ends[static_cast<std::size_t>(bucket)] = sent.end;
  }
  played.compute = ps(times.compute_s);
  played.exposed_comm = played.step - played.exposed_input - played.compute;
  played.fingerprint = step_fingerprint(step.forward, step.backward, ends);
  return played;
}

}  // namespace steptime
