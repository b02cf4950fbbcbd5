// Kernels and collectives that slow each other down by given factors, in each of the executions.
#include "sim/step/step.h"
#include "sim/workload/overlap.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"
#include "tests/support/messages.h"
#include "tests/support/played_step.h"
#include "tests/support/simulated.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
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

/// The tiny experiment on nodes of two GPUs, 1 GB/s without latency, that a factor makes slower
/// beside kernels; between nodes a byte takes next to nothing. A ring of two takes 1 ns/B.
Json nodes_of_two(int nodes, int factor, const char* fidelity) {
  Json patch = Json::parse(R"({
      "workload": {"overlap": "multiprocessors"},
      "cluster": {"gpus_per_node": 2,
        "network": {"type": "switch", "latency": "0 s", "bandwidth": "1000000 GB/s"},
        "intra_node": {"type": "switch", "latency": "0 s", "bandwidth": "1 GB/s"}},
      "strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}},
      "run": {"steps": 1}})");
  patch["cluster"]["nodes"] = nodes;
  patch["cluster"]["intra_node_beside_kernels"] = factor;
  patch["run"]["fidelity"] = fidelity;
  return patch;
}

void expect_sent(const std::vector<SentBucket>& sent,
                 const std::vector<std::pair<double, double>>& ms) {
  ASSERT_EQ(sent.size(), ms.size());
  for (std::size_t i = 0; i < ms.size(); ++i) {
    EXPECT_NEAR(sent[i].start_s, 1e-3 * ms[i].first, 1e-12) << i;
    EXPECT_NEAR(sent[i].end_s, 1e-3 * ms[i].second, 1e-12) << i;
  }
}

constexpr const char* kFidelities[] = {"analytic", "message"};

// Nine times: fc.b, 4 kB, wholly beside kernels, 20 .. 20.036 ms; of the 4 ms of fc.w 21.964 / 9
// are done when the backward pass ends at 42; then the rest, and 1 ms for conv, which has no kernel
// beside it.
TEST(LinksInsideANode, AreSlowerBesideKernels) {
  const TinyFolder folder;
  const double fc = 42 + 4 - 21.964 / 9;
  for (const char* fidelity : kFidelities) {
    Json patch = nodes_of_two(1, 9, fidelity);
    expect_sent(sent_buckets(tiny_experiment(folder, patch.dump())),
                {{20, 20.036}, {20.036, fc}, {fc, fc + 1}});
    patch["strategy"]["schedule"] =
        Json::parse(R"({"type": "tensor-fusion", "threshold": "0 B", "cycle": "0 s"})");
    EXPECT_NEAR(simulate(tiny_experiment(folder, patch.dump())).step_time_s, 1e-3 * (fc + 1),
                1e-12);
    patch["workload"]["overlap"] = "none";
    EXPECT_NEAR(simulate(tiny_experiment(folder, patch.dump())).step_time_s, 43e-3, 1e-12);
  }
}

// On a graph whose narrow link is that between two switches, over which both GPUs send at once, one
// in each direction: as on ports of 1 GB/s.
TEST(LinksInsideANode, AreThoseOfItsGraph) {
  const TinyFolder folder;
  const double fc = 42 + 4 - 21.964 / 9;
  for (const char* fidelity : kFidelities) {
    Json patch = nodes_of_two(1, 9, fidelity);
    patch["cluster"]["intra_node"] = nullptr;
    patch["cluster"]["node"] = Json::parse(R"({
        "vertices": [{"name": "g0", "kind": "gpu"}, {"name": "g1", "kind": "gpu"},
                     {"name": "s0", "kind": "pcie-switch"}, {"name": "s1", "kind": "pcie-switch"}],
        "links": [{"ends": ["g0", "s0"], "latency": "0 s", "bandwidth": "8 GB/s"},
                  {"ends": ["s0", "s1"], "latency": "0 s", "bandwidth": "1 GB/s"},
                  {"ends": ["s1", "g1"], "latency": "0 s", "bandwidth": "8 GB/s"}]})");
    expect_sent(sent_buckets(tiny_experiment(folder, patch.dump())),
                {{20, 20.036}, {20.036, fc}, {fc, fc + 1}});
  }
}

// Five times: fc.b's sum 20 .. 20.02. Its broadcast shares the links with the sum of fc.w, which
// ends at 20.02 + 5 x (0.004 + 4) = 40.04, when nothing but its broadcast is under way: 1.96 ms / 5
// = 0.392 of 4 are done when the kernels end at 42. Then conv's sum shares the links with it, 2 ms
// until 44, in which 1 ms of the broadcast is done; its other 2.608 ms follow, and the broadcast of
// conv, 1 ms: 47.608. Servers and the network take nanoseconds. With a factor of 1 all is over when
// conv is, 42 + 1 + 1.
TEST(LinksInsideANode, AreSlowerInsideClients) {
  const TinyFolder folder;
  for (const char* fidelity : kFidelities) {
    Json patch = nodes_of_two(2, 5, fidelity);
    Json& aggregation = patch["strategy"]["aggregation"];
    aggregation["type"] = "hybrid";
    aggregation["clients"] = 2;
    aggregation["servers"] = 2;
    EXPECT_NEAR(simulate(tiny_experiment(folder, patch.dump())).step_time_s, 47.608e-3, 5e-9)
        << fidelity;
    patch["cluster"]["intra_node_beside_kernels"] = 1;
    EXPECT_NEAR(simulate(tiny_experiment(folder, patch.dump())).step_time_s, 44e-3, 5e-9)
        << fidelity;
  }
}

// Two streams: fc.b and fc.w begin at 20, and have 4.004 ms of the links' time in all, of which
// 22 / 9 are done at 42, when conv begins. In messages it shares the links with what is left of
// fc.w, 1.56 ms, and all is over when both are: 42 + 4.004 - 22 / 9 + 1. In closed form what fc.w
// has lost takes no link from conv, and is over 1 ms before that.
TEST(LinksInsideANode, AreSlowerForSeveralStreams) {
  const TinyFolder folder;
  const double fc = 42 + 4.004 - 22.0 / 9;
  for (const char* fidelity : kFidelities) {
    Json patch = nodes_of_two(1, 9, fidelity);
    patch["strategy"]["transport"] = {{"type", "mpi"}, {"streams", 2}};
    const bool plays = std::string(fidelity) == "message";
    EXPECT_NEAR(simulate(tiny_experiment(folder, patch.dump())).step_time_s,
                1e-3 * (plays ? fc + 1 : fc), 1e-12)
        << fidelity;
  }
}

// Collectives of two streams that are known by their time only go one after another: fc.b until
// 21.004, fc.w until 26.004. Beside kernels either takes twice as long from 20 on: until 22.008 and
// 32.008. conv begins at 42 with nothing beside it, and takes 2 ms.
TEST(OverlapFactors, SlowCollectivesThatMeet) {
  const TinyFolder folder;
  const Experiment experiment = tiny_experiment(folder, R"({
      "workload": {"overlap": {"type": "factors", "collective": 2}},
      "strategy": {"transport": {"type": "mpi", "streams": 2}}})");
  const std::vector<SentBucket> sent = sent_buckets(experiment);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_NEAR(sent[0].end_s, 22.008e-3, 1e-12);
  EXPECT_NEAR(sent[1].end_s, 32.008e-3, 1e-12);
  EXPECT_NEAR(sent[2].end_s, 44e-3, 1e-12);
}

}  // namespace
}  // namespace steptime
