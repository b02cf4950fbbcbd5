#include "sim/experiment/runs/training_programs.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>
#include <vector>

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

TEST(TrainingPrograms, KernelsSlowNoKvstoreDown) {
  const TinyFolder folder;
  const std::string error = message_of<InputError>([&] {
    tiny_experiment(folder, R"({
        "cluster": {"nodes": 2, "gpus_per_node": 2, "intra_node_beside_kernels": 2, "intra_node":
            {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
        "strategy": {"aggregation": {"type": "kvstore", "servers": 2, "collective": null}}})");
  });
  EXPECT_EQ(
      error.substr(error.find("/cluster")),
      "/cluster/intra_node_beside_kernels: what a kvstore adds up on a node is not slowed down "
      "by kernels; expected 1");
}

}  // namespace
}  // namespace steptime
