// Are the figures of a run of programs those of what was played?
#include "sim/experiment/runs/training_result.h"

#include "sim/experiment/simulate.h"
#include "tests/support/simulated.h"

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(SentBuckets, OfWorkersThatDifferAreThoseOfTheFirst) {
  // A straggler that takes as long as any other: the same times, played instead of in closed form.
  const TinyFolder folder;
  const std::string varied = R"({"run": {"steps": 3, "variation": {"straggle_chance": 1,
      "straggle_factor": 1}}})";
  std::vector<SentBucket> buckets;
  const Result r = simulate(tiny_experiment(folder, varied), &buckets);
  EXPECT_DOUBLE_EQ(r.step_time_s, 0.044);
  EXPECT_EQ(r.messages, 3);
  EXPECT_DOUBLE_EQ(r.comm_busy_s, 0.008004);
  const auto closed = sent_buckets(tiny_experiment(folder));
  ASSERT_EQ(buckets.size(), closed.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(buckets[i].tensors, closed[i].tensors);
    EXPECT_EQ(buckets[i].start_s, closed[i].start_s);
    EXPECT_EQ(buckets[i].end_s, closed[i].end_s);
  }
}

// `all`: of all gradients once. The GPUs of a node push as one: two nodes to one server, 2 `all`,
// and half of that to each of two. Without nodes' sums all four workers push: 4 `all`, or 2 to
// each.
TEST(TrainingResult, APortOfServersCarriesWhatNodesPush) {
  const TinyFolder folder;
  const auto busy = [&](const std::string& type, int servers) {
    const std::string more = type == "kvstore" ? R"(, "merge": "local")" : "";
    return simulate(
               tiny_experiment(folder, fmt::format(R"({{"cluster": {{"nodes": 2, "gpus_per_node": 2,
                            "network": {{"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"}},
                            "intra_node": {{"type": "switch", "latency": "1 us",
                                            "bandwidth": "1 GB/s"}}}},
                            "strategy": {{"aggregation": {{"type": "{}", "servers": {}{},
                                "collective": null, "a": null, "b": null}}}}}})",
                                                   type, servers, more)))
        .server_ports_s;
  };
  const double all = busy("parameter-server", 1) / 4;
  EXPECT_GT(all, 0);
  EXPECT_DOUBLE_EQ(busy("parameter-server", 2), 2 * all);
  EXPECT_DOUBLE_EQ(busy("kvstore", 1), 2 * all);
  EXPECT_DOUBLE_EQ(busy("kvstore", 2), all);
}

}  // namespace
}  // namespace steptime
