#include "sim/core/error.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/play.h"
#include "tests/support/policies.h"
#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;

/// 8 ranks on links of 100 us: a tree of 3 rounds takes 300 us.
Cluster eight() {
  Cluster cluster = star_cluster(8);
  cluster.network.latency = microseconds(100);
  return cluster;
}

/// When gradients of 1 B travel [us], whose all-reduce takes 1 ms.
std::vector<std::int64_t> starts(const std::string& more, std::vector<Duration> ready) {
  const Cluster cluster = eight();
  const auto made = [&](std::span<const Bucket> buckets) {
    return make<Coordinator>(R"({"type": "horovod")" + more + "}")
        ->policy(nullptr, buckets, cluster);
  };
  const std::vector<std::int64_t> sizes(ready.size(), 1);
  const PolicyRun run(made, sizes, std::move(ready), [](Bytes) { return microseconds(1000); });
  std::vector<std::int64_t> list;
  for (const auto& sent : run.sent)
    list.push_back(since_start(sent.start) / microseconds(1));
  return list;
}

TEST(Horovod, RankZeroHearsOfEveryGradientFromEveryRank) {
  // Two gathers and two broadcasts of 300 us, and 2 gradients x 8 ranks x 10 us.
  EXPECT_EQ(starts(R"(, "handling": "10 us")", {Duration{}, Duration{}}),
            (std::vector<std::int64_t>{1360, 2360}));
}

TEST(Horovod, ACacheNeedsOneAllReduceOfBits) {
  EXPECT_EQ(starts(R"(, "cache": true)", {Duration{}, Duration{}}),
            (std::vector<std::int64_t>{300, 1300}));
  EXPECT_EQ(starts(R"(, "version": "0.16.2")", {Duration{}}), (std::vector<std::int64_t>{300}));
}

TEST(Horovod, CyclesAreThoseOfItsVersion) {
  // A gradient that is ready at 100 us waits for the next cycle, of 5 ms or 1 ms.
  EXPECT_EQ(starts(R"(, "version": "0.20.3")", {microseconds(100)}),
            (std::vector<std::int64_t>{5300}));
  EXPECT_EQ(starts(R"(, "version": "0.21.0")", {microseconds(100)}),
            (std::vector<std::int64_t>{1300}));
  EXPECT_EQ(starts(R"(, "version": "0.21.0", "cycle": "2 ms")", {microseconds(100)}),
            (std::vector<std::int64_t>{2300}));
}

// A cycle begins at max(end of the one before, its start + 5 ms), and an empty one negotiates, too:
// the first ends at 300 + 1000 us, the second begins at 5 ms and ends at 5.3, the third at 10 ms.
// What the last rank has at 4.9 ms goes in the second, what it has at 6 ms in the third.
TEST(Horovod, AGradientThatOneRankHasLateWaitsForACycle) {
  const std::string cached = R"(, "version": "0.20.3")";
  EXPECT_EQ(starts(cached, {Duration{}, microseconds(4900)}),
            (std::vector<std::int64_t>{300, 5300}));
  EXPECT_EQ(starts(cached, {Duration{}, microseconds(6000)}),
            (std::vector<std::int64_t>{300, 10300}));
  // Without a cache two gathers and two broadcasts: 1200 us in each cycle.
  EXPECT_EQ(starts(R"(, "handling": "0 s")", {Duration{}, microseconds(6000)}),
            (std::vector<std::int64_t>{1200, 11200}));
}

// Gradients of 4 MB at 2 s and 3 s, when a cycle of 100 ms begins; agreeing by bits takes two
// rounds of 1 ms; on a ring of four at 3 MB/s each takes 6 x 1 ms + 2 s.
//   MPI           2.002 + 2.006 = 4.008, when the next cycle begins: 4.008 + .002 + 2.006
//   NCCL          the second is agreed on at 3.002, and waits for the stream: 4.008 + 2.006
//   two streams   start-ups overlap, and the link is never idle: 2.008 + 2 x 2
TEST(Horovod, OverNcclTheNextCycleBeginsWhileAMessageTravels) {
  const auto step = [](const std::string& transport) {
    return simulate(training_experiment(
                        R"({"aggregation": )" + kRing + R"(, "transport": {)" + transport +
                            R"(, "coordinator": {"type": "horovod", "version": "0.20.3", "cycle":
                            "100 ms"}}})",
                        4, R"({"steps": 1})", 3e6))
        .step_time_s;
  };
  EXPECT_DOUBLE_EQ(step(R"("type": "horovod-mpi")"), 6.016);
  EXPECT_DOUBLE_EQ(step(R"("type": "horovod-nccl")"), 6.014);
  EXPECT_DOUBLE_EQ(step(R"("type": "horovod-nccl", "streams": 2)"), 6.008);
}

// The thread goes on, but what a schedule has under way has not arrived: with a credit of one part
// of 1 MB the second layer's parts are sent one by one, and the first layer's, urgent, overtakes
// those that are left; without that limit all of them are on the stream before it is ready.
TEST(Horovod, OverNcclASchedulesCreditCountsUntilAMessageArrives) {
  const auto first_layer_is_back = [](const std::string& credit) {
    std::vector<SentBucket> buckets;
    simulate(training_experiment(
                 R"({"aggregation": )" + kRing +
                     R"(, "schedule": {"type": "priority", "partition": "1 MB", "credit": ")" +
                     credit + R"("}, "transport": {"type": "horovod-nccl", "coordinator":
                     {"type": "horovod", "cycle": "0 s", "handling": "0 s"}}})",
                 4, R"({"steps": 1})", 1e6),
             &buckets);
    double end = 0;
    for (const SentBucket& bucket : buckets) {
      if (bucket.tensors.front() == "one") end = std::max(end, bucket.end_s);
    }
    return end;
  };
  EXPECT_LT(first_layer_is_back("1 MB"), first_layer_is_back("100 MB") - 1);
}

TEST(Horovod, WithoutCycleAndCostsItIsWfbp) {
  const auto step = [](const std::string& transport, const std::string& schedule) {
    return simulate(training_experiment(
                        R"({"schedule": )" + schedule + R"(, "transport": )" + transport + "}", 4,
                        R"({"steps": 3})"))
        .step_time_s;
  };
  // A negotiation over links without latency takes no time.
  const auto free_links = [](const std::string& transport) {
    Experiment e = training_experiment(R"({"transport": )" + transport + "}", 4, R"({"steps": 3})");
    auto cluster = *e.cluster;
    cluster.network.latency = {};
    cluster.intra_node.latency = {};
    e.cluster = std::make_shared<Cluster>(cluster);
    return simulate(e).step_time_s;
  };
  const std::string none = R"({"type": "horovod-mpi", "coordinator":
                               {"type": "horovod", "cycle": "0 s", "handling": "0 s"}})";
  EXPECT_EQ(free_links(none), free_links(R"({"type": "mpi"})"));
  // Over links of 1 ms agreeing on the last gradient takes 4 x 2 ms, which nothing hides.
  EXPECT_GE(step(none, R"({"type": "wfbp"})"),
            step(R"({"type": "mpi"})", R"({"type": "wfbp"})") + 8e-3);
}

TEST(Horovod, FusesAsTheScheduleSays) {
  // All gradients of a cycle are one message: with free links and handling, tensor fusion with its
  // own cycle takes as long as without it under the coordinator's.
  const auto step = [](const std::string& strategy) {
    Experiment e = training_experiment(strategy, 4, R"({"steps": 20})");
    auto cluster = *e.cluster;
    cluster.network.latency = {};
    cluster.intra_node.latency = {};
    e.cluster = std::make_shared<Cluster>(cluster);
    return simulate(e).step_time_s;
  };
  EXPECT_EQ(step(R"({"schedule": {"type": "tensor-fusion", "cycle": "70 ms"}})"),
            step(R"({"schedule": {"type": "tensor-fusion", "cycle": "0 s"},
                     "transport": {"type": "horovod-mpi", "coordinator":
                       {"type": "horovod", "cycle": "70 ms", "handling": "0 s"}}})"));
}

TEST(Horovod, GoesWithCyclesOfTheScheduleToo) {
  for (const char* version : {"0.15.2", "0.20.3", "0.21.0"}) {
    const Experiment e =
        training_experiment(fmt::format(R"({{"schedule": {{"type": "tensor-fusion"}}, "transport":
          {{"type": "horovod-mpi", "coordinator": {{"type": "horovod", "version": "{}"}}}}}})",
                                        version),
                            4, R"({"steps": 3})");
    EXPECT_GT(simulate(e).step_time_s, 3.0) << version;
  }
}

TEST(Horovod, TimeThatEndsIsRefused) {
  const Experiment e = training_experiment(
      R"({"transport": {"type": "horovod-mpi", "coordinator":
            {"type": "horovod", "handling": "4e6 s"}}})",
      4);
  EXPECT_THROW(simulate(e), InputError);
}

// tests/sim/mxnet/deadlock_test.cpp: in which `naive` cannot deadlock.
TEST(Horovod, CarriesWhatAnEngineCalls) {
  for (const char* embedding : {"naive", "concum", "depcha", "funnel"}) {
    const std::string strategy = fmt::format(R"({{"embedding": "{}")", embedding);
    const auto step = [&](const std::string& more) {
      return simulate(training_experiment(strategy + more, 4)).step_time_s;
    };
    const double cycle = step(R"(, "transport": {"type": "horovod-mpi", "coordinator":
                                   {"type": "horovod", "cycle": "300 ms"}}})");
    EXPECT_GT(cycle, step("}")) << embedding;
  }
}

}  // namespace
}  // namespace steptime
