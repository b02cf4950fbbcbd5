#include "sim/step/step.h"

#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/fakes.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};
constexpr Duration kSecond{1'000'000'000'000};
constexpr Duration kTenthMs{100'000'000};

//            0    2    4    6    8    10   12   14 ms
//  compute   |forward  | g1 |  g2   |g3|
//  wfbp                     | g1 |  |  g2  |g3 |       T = 1 ms + 0.1 ms/B: 2, 3, 1.5 ms
//
// Ready at 4 + 2 = 6, 9 and 10 ms. Ends: 6 + 2 = 8; max(8, 9) + 3 = 12; max(12, 10) + 1.5 = 13.5.
const std::vector<Gradient> kGradients{{2 * kMs, 10}, {3 * kMs, 20}, {1 * kMs, 5}};
const Workload kWorkload = workload_of(kGradients, 4 * kMs);
const LinearCollective kCollective = line(1 * kMs, kTenthMs);

StepPlan plan(const BucketPlan& buckets, std::int64_t workers = 2) {
  return plan_step(kWorkload, kWorkload.units(Granularity::kTensor), buckets, kCollective, workers);
}

TEST(PlanStep, FillsBucketsInSendOrder) {
  const StepPlan step = plan({.sizes = {1, 2}});
  EXPECT_EQ(step.forward, 4 * kMs);
  EXPECT_EQ(step.backward, 6 * kMs);
  EXPECT_FALSE(step.after_backward);
  ASSERT_EQ(step.buckets.size(), 2U);
  EXPECT_EQ(step.buckets[0].first_unit, 0);
  EXPECT_EQ(step.buckets[0].units, 1);
  EXPECT_EQ(step.buckets[0].bytes, Bytes{10});
  EXPECT_EQ(step.buckets[0].ready, 6 * kMs);
  EXPECT_EQ(step.buckets[0].cost, 2 * kMs);
  EXPECT_EQ(step.buckets[1].first_unit, 1);
  EXPECT_EQ(step.buckets[1].units, 2);
  EXPECT_EQ(step.buckets[1].bytes, Bytes{25});
  EXPECT_EQ(step.buckets[1].ready, 10 * kMs);  // with its last unit
  EXPECT_EQ(step.buckets[1].cost, 35 * kTenthMs);
}

TEST(Attribution, IsTheWayBackFromTheEndOfTheStep) {
  // 13.5 - 1.5 = 12 - 3 = 9: the second gradient was ready then, after 4 ms forward and 5 backward;
  // 2 start-ups and 20 + 5 bytes are on the way.
  const auto list = attribution(plan({.sizes = {1, 1, 1}}), kCollective);
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[0].cause, "backward pass");
  EXPECT_DOUBLE_EQ(list[0].seconds, 5e-3);
  EXPECT_EQ(list[1].cause, "forward pass");
  EXPECT_DOUBLE_EQ(list[1].seconds, 4e-3);
  EXPECT_EQ(list[2].cause, "collectives");
  EXPECT_DOUBLE_EQ(list[2].seconds, 2.5e-3);
  EXPECT_EQ(list[3].cause, "start-up of collectives");
  EXPECT_DOUBLE_EQ(list[3].seconds, 2e-3);
}

TEST(Attribution, TellsTheHostFromTheKernelsItLaunches) {
  // Half of the 4 ms forward and a fifth of the 5 ms backward that the end waits for.
  StepPlan step = plan({.sizes = {1, 1, 1}});
  step.forward_wait = 0.5;
  step.backward_wait = 0.2;
  double sum = 0;
  for (const Cause& cause : attribution(step, kCollective)) {
    sum += cause.seconds;
    if (cause.resource == "host") {
      EXPECT_EQ(cause.cause, "kernels that are not launched yet");
      EXPECT_DOUBLE_EQ(cause.seconds, 2e-3 + 1e-3);
    }
    if (cause.cause == "backward pass") {
      EXPECT_DOUBLE_EQ(cause.seconds, 4e-3);
    }
  }
  EXPECT_DOUBLE_EQ(sum, 13.5e-3);
}

TEST(PlanStep, AfterBackwardEveryBucketWaitsForTheLastGradient) {
  const StepPlan step = plan({.sizes = {1, 1, 1}, .after_backward = true});
  for (const Bucket& bucket : step.buckets)
    EXPECT_EQ(bucket.ready, 10 * kMs);
}

TEST(PlanStep, OneWorkerCommunicatesNothing) {
  const StepPlan step = plan({.sizes = {1, 1, 1}}, 1);
  EXPECT_TRUE(step.buckets.empty());
  EXPECT_EQ(closed_step(step).step, 10 * kMs);
  EXPECT_EQ(closed_step(step).comm_busy, Duration{});
  EXPECT_EQ(closed_step(step).exposed_comm, Duration{});
}

TEST(PlanStep, APlanMustCoverEveryGradient) {
  EXPECT_THROW(plan({.sizes = {1, 1}}), InternalError);
}

TEST(PlanStep, AStepBeyondTheRangeOfTimeIsAnInputError) {
  const CostFunction slow({}, [](Bytes) { return 2'000'000 * kSecond; });
  const auto units = kWorkload.units(Granularity::kTensor);
  // 2 x 2e6 s and the 0.01 s of compute.
  EXPECT_EQ(message_of<InputError>([&] {
              plan_step(kWorkload, units, {{1, 2}}, slow, 2);
            }),
            "one step takes 4000000.01 s, more than the 4000000 s that can be simulated");
  EXPECT_NO_THROW(plan_step(kWorkload, units, {{3}}, slow, 2));
}

TEST(PlanStep, ComputeBeyondTheRangeOfTimeIsAnInputErrorWithOneWorkerToo) {
  // Three such steps would pass 2^63 ps.
  const Workload slow = workload_of(kGradients, 9'000'000 * kSecond);
  EXPECT_THROW(plan_step(slow, slow.units(Granularity::kTensor), {{3}}, kCollective, 1),
               InputError);
}

TEST(LinearCost, IsTheLine) {
  EXPECT_EQ(kCollective.time(Bytes{0}), 1 * kMs);
  EXPECT_EQ(kCollective.time(Bytes{10}), 2 * kMs);
  EXPECT_EQ(kCollective.startup(), 1 * kMs);
  EXPECT_EQ(kCollective.linear()->a, 1 * kMs);
  EXPECT_EQ(kCollective.outside_domain(Bytes{10}), "");
}

TEST(LinearCost, BeyondTheRangeOfTimeIsAnInputError) {
  // Each part fits into 2^63 ps = 9.22e6 s, the sum does not.
  const LinearCost cost{9'000'000 * kSecond, {1}};
  EXPECT_THROW(cost.time(Bytes{9'000'000}), InputError);
}

TEST(ClosedStep, WaitFreeBackpropagation) {
  const StepPlan step = plan({.sizes = {1, 1, 1}});
  const std::vector<BucketTimes> buckets = bucket_times(step);
  EXPECT_EQ(buckets[0].end, 8 * kMs);
  EXPECT_EQ(buckets[1].end, 12 * kMs);
  EXPECT_EQ(buckets[2].end, 135 * kTenthMs);
  const StepTimes times = closed_step(step);
  EXPECT_EQ(times.step, 135 * kTenthMs);
  EXPECT_EQ(times.comm_busy, 65 * kTenthMs);     // 2 + 3 + 1.5
  EXPECT_EQ(times.exposed_comm, 35 * kTenthMs);  // 13.5 - 10
}

TEST(ClosedStep, OneMessage) {
  // 10 + (1 + 0.1 x 35) = 14.5
  const StepTimes times = closed_step(plan({.sizes = {3}, .after_backward = true}));
  EXPECT_EQ(times.step, 145 * kTenthMs);
  EXPECT_EQ(times.comm_busy, 45 * kTenthMs);
  EXPECT_EQ(times.exposed_comm, 45 * kTenthMs);
}

TEST(ClosedStep, CommunicationThatEndsEarlyIsNotExposed) {
  // One gradient ready at 1 ms, sent by 3 ms; the other layer computes until 9 ms without one.
  Workload w = workload_of(std::array{Gradient{1 * kMs, 10}});
  w.trace.layers.insert(w.trace.layers.begin(), {.name = "relu", .backward = 8 * kMs});
  const StepTimes times =
      closed_step(plan_step(w, w.units(Granularity::kTensor), {{1}}, kCollective, 2));
  EXPECT_EQ(times.step, 9 * kMs);
  EXPECT_EQ(times.comm_busy, 2 * kMs);
  EXPECT_EQ(times.exposed_comm, Duration{});
}

TEST(StepFingerprint, IsThatOfTheComputeTimesAndEnds) {
  const StepPlan step = plan({.sizes = {1, 1, 1}});
  const std::array ends{8 * kMs, 12 * kMs, 135 * kTenthMs};
  EXPECT_EQ(closed_step(step).fingerprint, step_fingerprint(4 * kMs, 6 * kMs, ends));
}

TEST(StepFingerprint, DependsOnEveryTimeAndOnTheirOrder) {
  std::array ends{1 * kMs, 2 * kMs, 3 * kMs, 4 * kMs, 5 * kMs, 6 * kMs};
  const std::uint64_t base = step_fingerprint(4 * kMs, 6 * kMs, ends);
  EXPECT_NE(base, step_fingerprint(6 * kMs, 4 * kMs, ends));
  EXPECT_NE(base, step_fingerprint(4 * kMs, 6 * kMs, std::span(ends).first(5)));
  EXPECT_NE(base, step_fingerprint(4 * kMs, 6 * kMs, {}));
  for (Duration& end : ends) {
    ++end;
    EXPECT_NE(base, step_fingerprint(4 * kMs, 6 * kMs, ends));
    --end;
  }
  std::swap(ends[0], ends[4]);  // both in the same of the four lanes
  EXPECT_NE(base, step_fingerprint(4 * kMs, 6 * kMs, ends));
  std::swap(ends[0], ends[4]);
  std::swap(ends[0], ends[1]);  // in two lanes
  EXPECT_NE(base, step_fingerprint(4 * kMs, 6 * kMs, ends));
}

TEST(PlanStep, RefusesPartsWithoutEnd) {
  const Workload workload = workload_of(std::vector<Gradient>{{kMs, 1'000'000}});
  const auto units = workload.units(Granularity::kTensor);
  const auto parts = [&](std::int64_t longest) {
    return plan_step(workload, units, {.sizes = {1}, .longest = Bytes{longest}},
                     line({}, Duration(1)), 2)
        .buckets.size();
  };
  EXPECT_EQ(parts(10), 100'000u);
  EXPECT_EQ(
      message_of<PlacedError>([&] { parts(1); }),
      "/strategy/schedule: about 1e+06 parts of one gradient, at most 1e+05; larger parts are "
      "fewer");
}

TEST(PlayBuckets, ReplacesTheCosts) {
  // 2 (4 - 1)(50 us + ceil(M / 4) 0.8 ns) for M = 10 and 4000.
  StepPlan plan;
  plan.buckets = {{.bytes = {10}}, {.bytes = {4000}}, {.bytes = {10}}};
  const Cluster cluster = star_cluster(4);
  play_buckets(plan, cluster, *collective_of(R"({"type": "ring"})", cluster));
  EXPECT_EQ(plan.buckets[0].cost.count(), 6 * message_ps(3));
  EXPECT_EQ(plan.buckets[1].cost.count(), 6 * message_ps(1000));
  EXPECT_EQ(plan.buckets[2].cost, plan.buckets[0].cost);
}

}  // namespace
}  // namespace steptime
