#include "tests/support/training.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::vector<std::vector<Piece>> pieces(const char* sharding, std::vector<std::int32_t> buckets,
                                       std::size_t parameters) {
  const auto workload = two_layers();
  const ServerGroup servers{.count = 2, .sharding = make<Sharding>(sharding)};
  std::vector<Bucket> cut;
  std::int32_t unit = 0;
  for (const std::int32_t size : buckets) {
    cut.push_back({.first_unit = unit, .units = size});
    unit += size;
  }
  return cut_pieces(workload->workload, workload->by_tensor, cut, servers,
                    LinearCollective(LinearCost{}), Granularity::kTensor, parameters);
}

TEST(TrainingPlan, ABucketIsOneMessagePerServer) {
  // Two keys of 1,000,000 elements, each split over both servers: 4 bytes * 2 * 500,000 each. Key
  // one stands for the learnt parameters [0, 5), key two for [5, 10).
  const auto cut = pieces(R"({"type": "mxnet"})", {2}, 10);
  ASSERT_EQ(cut.size(), 1u);
  ASSERT_EQ(cut[0].size(), 2u);
  EXPECT_EQ(cut[0][0].bytes, Bytes{4000000});
  EXPECT_EQ(cut[0][1].bytes, Bytes{4000000});
}

TEST(TrainingPlan, EveryParameterIsInOnePiece) {
  for (const char* sharding :
       {R"({"type": "mxnet"})", R"({"type": "round-robin"})", R"({"type": "greedy"})",
        R"({"type": "mxnet", "bound": 9999999})", R"({"type": "byteps", "partition": 300000})"}) {
    for (const std::size_t parameters : {0u, 1u, 7u, 650u, 5000u}) {
      std::vector<int> times(parameters);
      for (const auto& bucket : pieces(sharding, {1, 1}, parameters)) {
        for (const Piece& piece : bucket) {
          for (const ParameterRange& range : piece.ranges) {
            for (std::size_t i = range.begin; i < range.end; ++i)
              ++times[i];
          }
        }
      }
      EXPECT_EQ(times, std::vector<int>(parameters, 1)) << sharding << parameters;
    }
  }
}

TEST(TrainingPlan, KeysThatAreBucketsAreCutIntoMessages) {
  // One bucket of 2,000,000 elements, "two" before "one": 3 partitions, the second one across both.
  const auto cut = pieces(R"({"type": "byteps", "partition": 800000})", {2}, 20);
  ASSERT_EQ(cut.size(), 3u);
  for (const auto& piece : cut)
    ASSERT_EQ(piece.size(), 1u);
  EXPECT_EQ(cut[0][0].bytes, Bytes{3200000});
  EXPECT_EQ(cut[2][0].bytes, Bytes{1600000});
  // Key "two" stands for the learnt parameters [10, 20), "one" for [0, 10).
  ASSERT_EQ(cut[1][0].ranges.size(), 2u);
  EXPECT_EQ(cut[1][0].ranges[0].begin, 18u);
  EXPECT_EQ(cut[1][0].ranges[0].end, 20u);
  EXPECT_EQ(cut[1][0].ranges[1].begin, 0u);
  EXPECT_EQ(cut[1][0].ranges[1].end, 6u);
}

TEST(TrainingPlan, TheFirstBucketHasTheLastKey) {
  const auto cut = pieces(R"({"type": "round-robin"})", {1, 1}, 10);
  ASSERT_EQ(cut[0].size(), 1u);
  EXPECT_EQ(cut[0][0].server, 1);  // key 1, layer "two"
  EXPECT_EQ(cut[0][0].ranges[0].begin, 5u);
  EXPECT_EQ(cut[1][0].server, 0);
  EXPECT_EQ(cut[1][0].ranges[0].begin, 0u);
}

TEST(Variation, FactorsAreDrawnPerWorkerAndStep) {
  const Variation spread{.spread = 0.2};
  EXPECT_EQ(spread.factor(1, 3, 0), spread.factor(1, 3, 9));
  EXPECT_NE(spread.factor(1, 3, 0), spread.factor(1, 4, 0));
  const Variation jitter{.jitter = 0.2};
  EXPECT_NE(jitter.factor(1, 3, 0), jitter.factor(1, 3, 9));
  EXPECT_EQ(Variation{}.factor(1, 3, 0), 1);
  const Variation always{.straggle_chance = 1, .straggle_factor = 4};
  EXPECT_EQ(always.factor(1, 3, 0), 4);
}

TEST(TrainingTimes, MeanStaleness) {
  EXPECT_EQ(TrainingTimes{}.mean_staleness(), 0);
  TrainingTimes times;
  times.staleness = {2, 0, 2};  // twice 0, twice 2
  EXPECT_EQ(times.mean_staleness(), 1);
}

}  // namespace
}  // namespace steptime
