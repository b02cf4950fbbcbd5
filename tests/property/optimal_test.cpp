// The optimal schedule against exhaustive search, and against every other schedule.
#include "sim/step/schedule.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"
#include "tests/support/generators.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

constexpr int kMostLayers = 12;  // 2^11 partitions

const Schedule& optimal() {
  static const auto schedule = make<Schedule>(R"({"type": "optimal"})");
  return *schedule;
}

/// How much later the optimal plan ends than the best of all partitions.
Duration lost(const std::vector<Gradient>& gradients, const Collective& collective) {
  const auto units = workload_of(gradients).units(Granularity::kTensor);
  const BucketPlan plan = optimal().plan(units, collective);
  return end_of(units, plan.sizes, collective) - earliest_end(units, collective);
}

RC_GTEST_PROP(Optimal, IsTheBestPartitionForALine, ()) {
  const auto gradients = *any_gradients(kMostLayers);
  RC_ASSERT(lost(gradients, LinearCollective(*exact_line())) == Duration{});
}

// Each message's cost is rounded to a picosecond once: half a picosecond for each message of either
// plan.
RC_GTEST_PROP(Optimal, IsTheBestPartitionForAnyLineUpToRounding, ()) {
  const auto gradients = *any_gradients(kMostLayers);
  const Duration later = lost(gradients, LinearCollective(*any_line()));
  RC_ASSERT(later >= Duration{});
  RC_ASSERT(later <= Duration(static_cast<std::int64_t>(gradients.size())));
}

RC_GTEST_PROP(Optimal, IsTheBestPartitionForAnyCostThatDoesNotFall, ()) {
  const auto gradients = *any_gradients(kMostLayers);
  const CostFunction cost = (*any_staircase(120'000)).collective();
  RC_ASSERT(lost(gradients, cost) == Duration{});
}

// The O(L) form for lines and the O(L^2) form for any cost, on models too long for a search.
RC_GTEST_PROP(Optimal, BothFormsEndAtTheSameTime, ()) {
  const auto gradients = *any_gradients(300);
  const LinearCollective linear(*exact_line());
  const CostFunction same(linear.startup(), [&](Bytes m) { return linear.time(m); });
  const auto units = workload_of(gradients).units(Granularity::kTensor);
  RC_ASSERT(end_of(units, optimal().plan(units, linear).sizes, linear) ==
            end_of(units, optimal().plan(units, same).sizes, linear));
}

/// Every registered schedule with its defaults, and fixed buckets of any capacity.
std::vector<std::unique_ptr<Schedule>> rivals(const std::string& granularity) {
  std::vector<std::unique_ptr<Schedule>> all;
  for (const auto& [name, unused] : Schedules::instance().items()) {
    all.push_back(
        make<Schedule>(fmt::format(R"({{"type": "{}", "granularity": "{}"}})", name, granularity)));
  }
  all.push_back(make<Schedule>(fmt::format(
      R"({{"type": "fixed-buckets", "capacity": "{} B", "first_capacity": "{} B",
           "granularity": "{}"}})",
      *rc::gen::inRange(1, 8'000'000), *rc::gen::inRange(1, 2'000'000), granularity)));
  return all;
}

/// No rival ends earlier than the optimum of tensors; none of layers earlier than that of layers.
void check_rivals(const Workload& workload, const Collective& collective) {
  const auto rounding =
      Duration(static_cast<std::int64_t>(workload.units(Granularity::kTensor).size()));
  const auto best_of_layers = make<Schedule>(R"({"type": "optimal", "granularity": "layer"})");
  const Duration tensors = step_of(workload, optimal(), collective).step;
  const Duration layers = step_of(workload, *best_of_layers, collective).step;
  RC_ASSERT(tensors <= layers + rounding);
  for (const auto& rival : rivals("tensor"))
    RC_ASSERT(tensors <= step_of(workload, *rival, collective).step + rounding);
  for (const auto& rival : rivals("layer"))
    RC_ASSERT(layers <= step_of(workload, *rival, collective).step + rounding);
}

RC_GTEST_PROP(Optimal, IsNeverLaterThanAnotherScheduleOnALine, ()) {
  check_rivals(*any_workload(30), LinearCollective(*any_line()));
}

RC_GTEST_PROP(Optimal, IsNeverLaterThanAnotherScheduleForAnyCost, ()) {
  check_rivals(*any_workload(30), (*any_staircase(10'000'000)).collective());
}

}  // namespace
}  // namespace steptime
