// The closed form of a step against its program, and the laws that every step keeps.
#include "sim/step/step.h"

#include "sim/network/cluster.h"
#include "sim/step/schedule.h"
#include "sim/workload/overlap.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"
#include "tests/support/generators.h"
#include "tests/support/played_step.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// Each registered schedule, at both granularities.
const std::vector<std::unique_ptr<Schedule>>& schedules() {
  static const auto all = [] {
    std::vector<std::unique_ptr<Schedule>> list;
    for (const auto& [name, unused] : Schedules::instance().items()) {
      for (const char* granularity : {"tensor", "layer"}) {
        list.push_back(make<Schedule>(
            fmt::format(R"({{"type": "{}", "granularity": "{}"}})", name, granularity)));
      }
    }
    return list;
  }();
  return all;
}

/// A line, exact or not, or a staircase.
std::unique_ptr<Collective> any_collective() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return std::make_unique<LinearCollective>(*exact_line());
    case 1:
      return std::make_unique<LinearCollective>(*any_line());
    default:
      return std::make_unique<CostFunction>((*any_staircase(10'000'000)).collective());
  }
}

/// Factors of 1 to 3, in steps of 1/8.
std::shared_ptr<const Overlap> any_overlap() {
  const auto factor = [] { return 1 + *rc::gen::inRange(0, 17) / 8.0; };
  return make<Overlap>(
      fmt::format(R"({{"type": "factors", "compute": {}, "collective": {}}})", factor(), factor()));
}

RC_GTEST_PROP(Step, TheClosedFormIsTheSimulation, ()) {
  Workload workload = *any_workload(12);
  if (*rc::gen::arbitrary<bool>()) workload.overlap = any_overlap();
  const auto collective = any_collective();
  const auto workers = *rc::gen::element<std::int64_t>(1, 2, 64);
  const auto steps = *rc::gen::inRange<std::int64_t>(1, 4);
  for (const auto& schedule : schedules()) {
    const auto units = workload.units(schedule->granularity());
    StepPlan plan =
        plan_step(workload, units, schedule->plan(units, *collective), *collective, workers);
    if (*rc::gen::arbitrary<bool>()) plan.input = *any_duration(2 * kLayerTime);
    const StepTimes closed = closed_step(plan);
    RC_ASSERT(played_step(plan, steps) == closed);
  }
}

// Any partition at all, not only those that some schedule makes.
RC_GTEST_PROP(Step, TheClosedFormIsTheSimulationForAnyPlan, ()) {
  const Workload workload = *any_workload(12);
  const auto collective = any_collective();
  const auto units = workload.units(Granularity::kTensor);
  BucketPlan buckets{.after_backward = *rc::gen::arbitrary<bool>()};
  for (auto left = static_cast<std::int32_t>(units.size()); left > 0;) {
    buckets.sizes.push_back(*rc::gen::inRange(1, std::min(left, 5) + 1));
    left -= buckets.sizes.back();
  }
  const StepPlan plan = plan_step(workload, units, buckets, *collective, 2);
  RC_ASSERT(played_step(plan, 2) == closed_step(plan));
}

// Slowed down by each other, neither gets faster; causes add up to the step all the same.
RC_GTEST_PROP(Step, OverlapCostsNeverShortenIt, ()) {
  Workload workload = *any_workload(12);
  const auto collective = any_collective();
  const auto schedule = make<Schedule>(R"("wfbp")");
  const Duration free = closed_step(plan_of(workload, *schedule, *collective)).step;
  workload.overlap = any_overlap();
  const StepPlan plan = plan_of(workload, *schedule, *collective);
  const StepTimes times = closed_step(plan);
  RC_ASSERT(times.step >= free);
  double sum = 0;
  for (const Cause& cause : attribution(plan, *collective))
    sum += cause.seconds;
  RC_ASSERT(std::abs(sum - to_seconds(times.step)) <= 1e-12 * to_seconds(times.step));
}

RC_GTEST_PROP(Step, KeepsItsBounds, ()) {
  const Workload workload = *any_workload(20);
  const auto collective = any_collective();
  const Duration compute = workload.trace.forward() + workload.trace.backward();
  for (const auto& schedule : schedules()) {
    const StepPlan plan = plan_of(workload, *schedule, *collective);
    const StepTimes times = closed_step(plan);
    RC_ASSERT(times.step >= compute);
    RC_ASSERT(times.step <= compute + times.comm_busy);
    RC_ASSERT(times.exposed_comm == times.step - compute);
    // The channel cannot start before the first bucket exists, nor end before the last one's cost.
    if (plan.buckets.empty()) continue;
    RC_ASSERT(times.step >= plan.buckets.front().ready + times.comm_busy);
    RC_ASSERT(times.step >= plan.buckets.back().ready + plan.buckets.back().cost);
    RC_ASSERT(plan.buckets.front().ready >= plan.forward);
  }
}

RC_GTEST_PROP(Step, SendsEveryByteOnce, ()) {
  const Workload workload = *any_workload(20);
  const auto collective = any_collective();
  for (const auto& schedule : schedules()) {
    const auto units = workload.units(schedule->granularity());
    const StepPlan plan = plan_of(workload, *schedule, *collective);
    Bytes bytes{};
    std::int32_t next = 0;
    Bytes part{};
    Duration ready{};
    for (const Bucket& bucket : plan.buckets) {
      if (bucket.offset == Bytes{}) {
        RC_ASSERT(bucket.first_unit == next);
        part = {};
      } else {  // goes on where the part before has ended
        RC_ASSERT(bucket.first_unit + 1 == next);
        RC_ASSERT(bucket.offset == part);
        next -= bucket.units;
      }
      RC_ASSERT(bucket.units > 0);
      RC_ASSERT(bucket.ready >= ready);
      next += bucket.units;
      ready = bucket.ready;
      bytes += bucket.bytes;
      part += bucket.bytes;
    }
    RC_ASSERT(next == static_cast<std::int32_t>(units.size()));
    RC_ASSERT(bytes.count == workload.trace.params() * workload.bytes_per_param);
  }
}

/// Ring all-reduce over `n` nodes on links of this bandwidth.
std::unique_ptr<Collective> ring(std::int64_t n, Duration latency, double bandwidth) {
  Cluster cluster{.nodes = n};
  cluster.network = {latency, {bandwidth}};
  return make<Collective>(R"({"type": "ring"})", cluster);
}

RC_GTEST_PROP(Step, MoreBandwidthIsNeverSlower, ()) {
  const Workload workload = *any_workload(20);
  const auto n = *rc::gen::inRange<std::int64_t>(2, 100);
  const Duration latency = *any_duration(100'000'000);
  const auto slow_bandwidth = static_cast<double>(*rc::gen::inRange(1'000'000, 2'000'000'000));
  const auto more = static_cast<double>(*rc::gen::inRange(0, 2'000'000'000));
  const auto slow = ring(n, latency, slow_bandwidth);
  const auto fast = ring(n, latency, slow_bandwidth + more);
  for (const auto& schedule : schedules()) {
    // A schedule may decide otherwise on a faster network, and worse: the law is one of a plan.
    const auto units = workload.units(schedule->granularity());
    const BucketPlan buckets = schedule->plan(units, *slow);
    RC_ASSERT(closed_step(plan_step(workload, units, buckets, *fast, n)).step <=
              closed_step(plan_step(workload, units, buckets, *slow, n)).step);
  }
  // These three do not decide worse: two do not look at the network, and the best of all plans for
  // the fast one is no later than the slow one's. Rounding: a picosecond per message.
  for (const char* type : {"wfbp", "sync-easgd", "optimal"}) {
    const auto schedule = make<Schedule>(fmt::format(R"({{"type": "{}"}})", type));
    const auto rounding =
        Duration(static_cast<std::int64_t>(workload.units(Granularity::kTensor).size()));
    RC_ASSERT(step_of(workload, *schedule, *fast).step <=
              step_of(workload, *schedule, *slow).step + rounding);
  }
}

}  // namespace
}  // namespace steptime
