// Kernels and collectives that slow each other down by given factors, in each of the executions.
#include "sim/step/step.h"
#include "sim/workload/overlap.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"
#include "tests/support/messages.h"
#include "tests/support/played_step.h"
#include "tests/support/simulated.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};
constexpr Duration kTenthMs{100'000'000};

// 4 ms forward; three gradients after 2, 5 and 6 ms of the backward pass, whose all-reduces take
// 1 ms + 0.1 ms/B by themselves: 2, 3 and 1.5 ms.
Workload workload(const char* overlap) {
  const std::vector<Gradient> gradients{{2 * kMs, 10}, {3 * kMs, 20}, {1 * kMs, 5}};
  Workload workload = workload_of(gradients, 4 * kMs);
  workload.overlap = make<Overlap>(overlap);
  return workload;
}
const LinearCollective kCollective = line(1 * kMs, kTenthMs);

struct Times {
  Duration step;
  std::vector<Duration> ready;
  std::vector<Duration> ends;
};
Times times_of(const char* overlap) {
  const Workload w = workload(overlap);
  const auto units = w.units(Granularity::kTensor);
  const StepPlan plan = plan_step(w, units, {.sizes = {1, 1, 1}}, kCollective, 2);
  EXPECT_EQ(played_step(plan, 2), closed_step(plan));
  Times times{closed_step(plan).step, {}, {}};
  for (const BucketTimes& bucket : bucket_times(plan)) {
    times.ready.push_back(bucket.ready);
    times.ends.push_back(bucket.end);
  }
  return times;
}

TEST(OverlapFactors, SlowTheBackwardPass) {
  // The first all-reduce runs from 6 to 8 ms; of the second gradient's 3 ms one is done meanwhile,
  // so it is ready at 10. The third needs 2 ms instead of one beside the second all-reduce, which
  // ends at 13; its own then takes until 14.5.
  const Times times = times_of(R"({"type": "factors", "compute": 2})");
  EXPECT_EQ(times.ready, (std::vector{6 * kMs, 10 * kMs, 12 * kMs}));
  EXPECT_EQ(times.ends, (std::vector{8 * kMs, 13 * kMs, 145 * kTenthMs}));
  EXPECT_EQ(times.step, 145 * kTenthMs);
}

TEST(OverlapFactors, SlowAllReducesUntilTheBackwardPassIsOver) {
  // 6 + 2 x 2 = 10, where the backward pass ends; then 3 and 1.5 ms.
  const Times times = times_of(R"({"type": "factors", "collective": 2})");
  EXPECT_EQ(times.ready, (std::vector{6 * kMs, 9 * kMs, 10 * kMs}));
  EXPECT_EQ(times.ends, (std::vector{10 * kMs, 13 * kMs, 145 * kTenthMs}));
}

TEST(OverlapFactors, SlowBoth) {
  // The first all-reduce takes 4 ms, of which the backward pass makes 2: the second gradient is
  // there at 11. The millisecond left takes 2, in which one of the second all-reduce's 3 is done:
  // 11 + 2 + 2 = 15. Then 1.5 ms.
  const Times times = times_of(R"({"type": "factors", "compute": 2, "collective": 2})");
  EXPECT_EQ(times.ready, (std::vector{6 * kMs, 11 * kMs, 13 * kMs}));
  EXPECT_EQ(times.ends, (std::vector{10 * kMs, 15 * kMs, 165 * kTenthMs}));
}

TEST(OverlapFactors, AreCausesOfTheirOwn) {
  // Beside the second all-reduce nothing is slowed that the end of the step waits for: 4 + 5 ms of
  // passes, 1 ms because the first all-reduce ran, and 3 + 1.5 ms.
  const Workload w = workload(R"({"type": "factors", "compute": 2})");
  const StepPlan plan =
      plan_step(w, w.units(Granularity::kTensor), {.sizes = {1, 1, 1}}, kCollective, 2);
  double sum = 0;
  double slowed = 0;
  for (const Cause& cause : attribution(plan, kCollective)) {
    sum += cause.seconds;
    if (cause.cause == "backward pass slowed by collectives") slowed += cause.seconds;
  }
  EXPECT_DOUBLE_EQ(sum, 14.5e-3);
  EXPECT_DOUBLE_EQ(slowed, 1e-3);
}

// A byte takes twice as long beside kernels, a start-up does not: 1 ms + 0.1 ms/B become 3, 5 and
// 2 ms, of which none is left when the backward pass ends: 6 + 3 = 9, 9 + 5 = 14 (12 without
// kernels, which end at 10: of 5 ms one is done, a fifth, and 4/5 of 3 ms are left) and 1.5 ms.
TEST(OverlapFactors, AddToWhatLinksAreSlowedDown) {
  Workload w = workload("\"multiprocessors\"");
  const LinearCollective beside_kernels = line(1 * kMs, 2 * kTenthMs);
  const auto units = w.units(Granularity::kTensor);
  const StepPlan plan = plan_step(w, units, {.sizes = {1, 1, 1}}, kCollective, 2, &beside_kernels);
  EXPECT_EQ(played_step(plan, 2), closed_step(plan));
  const std::vector<BucketTimes> times = bucket_times(plan);
  EXPECT_EQ(times[0].end, 9 * kMs);
  EXPECT_EQ(times[1].end, 10 * kMs + 24 * kTenthMs);
  EXPECT_EQ(times[2].end, 10 * kMs + 24 * kTenthMs + 15 * kTenthMs);
  w.overlap = make<Overlap>(R"({"type": "factors", "collective": 2})");
  const std::vector<BucketTimes> both =
      bucket_times(plan_step(w, units, {.sizes = {1, 1, 1}}, kCollective, 2, &beside_kernels));
  // Twice 3 ms, but after 4 of these the backward pass is over, and of the 2 ms a third is left.
  EXPECT_EQ(both[0].end, 10 * kMs + Duration(666'666'667));
}

// The same step from a policy that hears of each gradient by itself, and from the recurrence.
TEST(OverlapFactors, HoldForPoliciesToo) {
  const TinyFolder folder;
  const auto step = [&](const char* schedule) {
    return simulate(tiny_experiment(folder, fmt::format(R"({{
      "workload": {{"overlap": {{"type": "factors", "compute": 1.3, "collective": 1.5}}}},
      "strategy": {{"schedule": {}}}, "run": {{"steps": 3}}}})",
                                                        schedule)))
        .step_time_s;
  };
  EXPECT_DOUBLE_EQ(step(R"({"type": "tensor-fusion", "threshold": "0 B", "cycle": "0 s"})"),
                   step(R"({"type": "wfbp"})"));
}

// 24 ms of the backward pass are left when the 6.004 ms of fc's all-reduces begin: at half the
// speed these take 12.008, in which 12.008 / 1.3 ms of the pass are done. Then 2 ms for conv.
TEST(OverlapFactors, AreThoseOfTheTinyExperiment) {
  const TinyFolder folder;
  const Result result = simulate(tiny_experiment(folder, R"({"workload": {"overlap": {
      "type": "factors", "compute": 1.3, "collective": 2}}})"));
  EXPECT_NEAR(result.step_time_s, 42e-3 + 12.008e-3 * (1 - 1 / 1.3) + 2e-3, 1e-12);
  EXPECT_NEAR(result.comm_busy_s, 12.008e-3 + 2e-3, 1e-12);
  EXPECT_DOUBLE_EQ(result.compute_time_s, 42e-3);
}

// A ring of two GPUs takes 1 ns/B, and nine beside kernels: fc.b 20 .. 20.036 ms; of the 4 ms of
// fc.w 21.964 / 9 are done when the backward pass ends at 42; then the rest, and 1 ms for conv.
TEST(LinksInsideANode, AreSlowerBesideKernels) {
  const TinyFolder folder;
  const auto step = [&](const char* overlap, const char* schedule) {
    return simulate(tiny_experiment(folder, fmt::format(R"({{
      "workload": {{"overlap": "{}"}},
      "cluster": {{"nodes": 1, "gpus_per_node": 2, "intra_node_beside_kernels": 9,
        "intra_node": {{"type": "switch", "latency": "0 s", "bandwidth": "1 GB/s"}}}},
      "strategy": {{"aggregation": {{"collective": {{"type": "ring", "a": null, "b": null}}}},
                    "schedule": {}}}, "run": {{"steps": 1}}}})",
                                                        overlap, schedule)))
        .step_time_s;
  };
  const double slower = 42e-3 + (4e-3 - 21.964e-3 / 9) + 1e-3;
  EXPECT_NEAR(step("multiprocessors", R"("wfbp")"), slower, 1e-12);
  const char* policy = R"({"type": "tensor-fusion", "threshold": "0 B", "cycle": "0 s"})";
  EXPECT_NEAR(step("multiprocessors", policy), slower, 1e-12);
  EXPECT_NEAR(step("none", R"("wfbp")"), 43e-3, 1e-12);
}

TEST(LinksInsideANode, AreSlowerForOneCollectiveAtATime) {
  const TinyFolder folder;
  const Experiment experiment = tiny_experiment(folder, R"({
      "cluster": {"nodes": 2, "gpus_per_node": 2, "intra_node_beside_kernels": 3,
        "intra_node": {"type": "switch", "latency": "0 s", "bandwidth": "1 GB/s"}},
      "strategy": {"aggregation": {"type": "hybrid", "clients": 2, "servers": 2,
                                   "collective": {"type": "ring", "a": null, "b": null}}}})");
  EXPECT_EQ(message_of<InputError>([&] { simulate(experiment); }),
            experiment.file +
                ": /cluster/intra_node_beside_kernels: slows collectives down, which closed forms "
                "of one at a time know only: expected one stream, no broadcasts inside clients "
                "(hybrids) and, with servers, analytic fidelity; or a factor of 1");
}

TEST(OverlapFactors, SlowNoCollectivesThatMeet) {
  const TinyFolder folder;
  const Experiment experiment = tiny_experiment(folder, R"({
      "workload": {"overlap": {"type": "factors", "collective": 2}},
      "strategy": {"transport": {"type": "mpi", "streams": 2}}})");
  EXPECT_EQ(message_of<InputError>([&] { simulate(experiment); }),
            experiment.file +
                ": /workload/overlap: slows collectives down, which closed forms of one at a time "
                "know only: expected one stream, no broadcasts inside clients (hybrids) and, "
                "with servers, analytic fidelity; or a factor of 1");
}

}  // namespace
}  // namespace steptime
