#include "sim/experiment/simulate.h"
#include "tests/support/play.h"
#include "tests/support/policies.h"
#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;

/// When gradients of 1 B travel [us] among 8 ranks on links of 100 us; an all-reduce takes 1 ms.
std::vector<std::int64_t> starts(const std::string& more, std::vector<Duration> ready) {
  Cluster cluster = star_cluster(8);
  cluster.network.latency = microseconds(100);
  const auto made = [&](std::span<const Bucket> buckets) {
    return make<Coordinator>(R"({"type": "baidu")" + more + "}")->policy(nullptr, buckets, cluster);
  };
  const std::vector<std::int64_t> sizes(ready.size(), 1);
  const PolicyRun run(made, sizes, std::move(ready), [](Bytes) { return microseconds(1000); });
  std::vector<std::int64_t> list;
  for (const auto& sent : run.sent)
    list.push_back(since_start(sent.start) / microseconds(1));
  return list;
}

TEST(Baidu, RankZeroHandlesEveryMessage) {
  // There and back 200 us; 2 gradients of 7 others, in and out, and 7 that they are done: 35
  // messages of 10 us. Each travels by itself.
  EXPECT_EQ(starts(R"(, "handling": "10 us")", {Duration{}, Duration{}}),
            (std::vector<std::int64_t>{550, 1550}));
}

TEST(Baidu, SleepsAfterTheEndOfATick) {
  // The first tick ends at 0 + 200 + 1000 us; the second gradient, ready at 300 us, waits for the
  // one that begins 1000 us later.
  EXPECT_EQ(starts(R"(, "handling": "0 s")", {Duration{}, microseconds(300)}),
            (std::vector<std::int64_t>{200, 2400}));
  EXPECT_EQ(starts(R"(, "handling": "0 s", "tick": "0 s")", {Duration{}, microseconds(300)}),
            (std::vector<std::int64_t>{200, 1400}));
  // Empty ticks, which begin 1200 us apart: at 0, 1200.
  EXPECT_EQ(starts(R"(, "handling": "0 s")", {microseconds(300)}),
            (std::vector<std::int64_t>{1400}));
}

TEST(Baidu, WithoutTickAndCostsItIsWfbp) {
  const auto step = [](const std::string& transport) {
    Experiment e = training_experiment(R"({"transport": )" + transport + "}", 4, R"({"steps": 3})");
    auto cluster = *e.cluster;
    cluster.network.latency = {};
    cluster.intra_node.latency = {};
    e.cluster = std::make_shared<Cluster>(cluster);
    return simulate(e).step_time_s;
  };
  EXPECT_EQ(step(R"({"type": "mpi", "coordinator":
                     {"type": "baidu", "tick": "0 s", "handling": "0 s"}})"),
            step(R"({"type": "mpi"})"));
}

}  // namespace
}  // namespace steptime
