#include "tests/support/training.h"

#include <cstdint>
#include <vector>

#include <fmt/format.h>
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
    cut.push_back({.first_unit = unit, .units = size, .bytes = {4000000 * size}});
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

TEST(TrainingPlan, MovingAveragesTakeTurns) {
  // Of the variables kernel, beta, gamma, both averages and weights the last has turn 5, on server
  // 2 of 3; without the averages turn 3, on server 0.
  Workload workload{.trace = {.model = "fake", .device = "fake", .batch = 1}, .bytes_per_param = 4};
  workload.trace.layers = {{.name = "conv", .tensors = {{"conv/kernel", 10}}},
                           {.name = "bn", .tensors = {{"bn/beta", 2}, {"bn/gamma", 2}}},
                           {.name = "fc", .tensors = {{"fc/weights", 5}}}};
  const auto units = workload.units(Granularity::kTensor);
  for (const bool averages : {false, true}) {
    const ServerGroup servers{
        .count = 3,
        .sharding = make<Sharding>(
            fmt::format(R"({{"type": "round-robin", "moving_averages": {}}})", averages))};
    std::vector<Bucket> bucket{{.first_unit = 0, .units = 4}};
    const auto cut = cut_pieces(workload, units, bucket, servers, LinearCollective(LinearCost{}),
                                Granularity::kTensor, 0);
    std::vector<std::int64_t> bytes;
    for (const Piece& piece : cut.at(0))
      bytes.push_back(piece.bytes.count);
    EXPECT_EQ(bytes, averages ? (std::vector<std::int64_t>{4 * 10, 4 * 2, 4 * (2 + 5)})
                              : (std::vector<std::int64_t>{4 * (10 + 5), 4 * 2, 4 * 2}));
  }
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

TEST(TrainingPlan, ServersBeyondHoldPartsOfEachPiece) {
  // Both keys as one bucket, on two merging places by `greedy`: a key each, which two servers
  // beyond, where the second key is hashed to (1 * 9973) mod 2 = 1, have whole; or in halves.
  const auto workload = two_layers();
  const std::vector<Bucket> bucket{{.first_unit = 0, .units = 2}};
  const ServerGroup merge{.count = 2, .sharding = make<Sharding>(R"({"type": "greedy"})")};
  const auto cut = [&](const char* sharding) {
    const ServerGroup beyond{.count = 2, .sharding = make<Sharding>(sharding)};
    return cut_pieces_beyond(workload->workload, workload->by_tensor, bucket, merge, beyond,
                             Granularity::kTensor, 10);
  };
  const auto whole = cut(R"({"type": "mxnet", "bound": 9999999})");
  ASSERT_EQ(whole.size(), 2u);
  for (const std::size_t p : {0, 1}) {
    ASSERT_EQ(whole[p].size(), 1u);
    EXPECT_EQ(whole[p][0].bytes, Bytes{4000000});
    ASSERT_EQ(whole[p][0].ranges.size(), 1u);
    // Key one stands for parameters [0, 5) and is on server 0.
    EXPECT_EQ(whole[p][0].ranges[0].begin, 5 * static_cast<std::size_t>(whole[p][0].server));
  }
  const auto halves = cut(R"({"type": "mxnet"})");
  ASSERT_EQ(halves.size(), 2u);
  for (const auto& pieces : halves) {
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0].bytes, Bytes{2000000});
    EXPECT_EQ(pieces[1].bytes, Bytes{2000000});
  }
}

TEST(TrainingPlan, PushesAndPullsAreIssuedOneAfterAnother) {
  // Buckets: key two, key one. A push takes 3, a pull 2. Pushes first: pushes end at 3 and 6, pulls
  // at 8 and 10; by key: push 3, pull 5, push 8, pull 10.
  const auto workload = two_layers();
  const auto times = [&](const std::vector<Bucket>& buckets, bool pushes_first) {
    return issue_times({Duration(3), Duration(2), pushes_first}, workload->workload,
                       workload->by_tensor, buckets, Granularity::kTensor);
  };
  const auto expect = [](const Issued& issued, int push, int pull) {
    EXPECT_EQ(issued.push, Duration(push));
    EXPECT_EQ(issued.pull, Duration(pull));
  };
  const std::vector<Bucket> apart{{.first_unit = 0, .units = 1}, {.first_unit = 1, .units = 1}};
  const auto first = times(apart, true);
  ASSERT_EQ(first.size(), 2u);
  expect(first[0], 6, 10);
  expect(first[1], 3, 8);
  const auto by_key = times(apart, false);
  expect(by_key[0], 8, 10);
  expect(by_key[1], 3, 5);
  const auto together = times({{.first_unit = 0, .units = 2}}, true);
  ASSERT_EQ(together.size(), 1u);
  expect(together[0], 6, 10);
  EXPECT_TRUE(
      issue_times({}, workload->workload, workload->by_tensor, apart, Granularity::kLayer).empty());
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

/// A buffer of both gradients comes behind these two, both parameters and, where there is a batch
/// normalisation, its 3 buffers: its key is 4 << 16 or 7 << 16. As 33 = 1 mod 8 and the code of a
/// digit is the digit mod 8, djb2 on 8 servers is 5381 = 5 and the digits: of 262144 5 + 19 = 0, of
/// 458752 5 + 31 = 4, and of the keys 0 and 65536 of single gradients 5 and 5 + 25 = 6.
TEST(TrainingPlan, KeysAreCountedFromTheModel) {
  const auto servers_of = [](const std::vector<Bucket>& of, std::int64_t norms) {
    auto workload = two_layers()->workload;
    if (norms > 0) workload.trace.copies = ArrayCopies{.buffers = 3 * norms};
    const auto units = workload.units(Granularity::kTensor);
    std::vector<Bucket> buckets = of;
    const ServerGroup servers{
        .count = 8, .sharding = make<Sharding>(R"({"type": "byteps", "partition": 2000000})")};
    std::vector<std::int64_t> all;
    for (const auto& pieces : cut_pieces(workload, units, buckets, servers,
                                         LinearCollective(LinearCost{}), Granularity::kTensor, 0))
      all.push_back(pieces.at(0).server);
    return all;
  };
  using Servers = std::vector<std::int64_t>;
  const std::vector<Bucket> merged{{.first_unit = 0, .units = 2}};
  const std::vector<Bucket> single{{.first_unit = 0, .units = 1, .bytes = {4000000}},
                                   {.first_unit = 1, .units = 1, .bytes = {4000000}}};
  EXPECT_EQ(servers_of(merged, 0), Servers{0});
  EXPECT_EQ(servers_of(merged, 1), Servers{4});
  // "one" is declared before "two", which is sent first.
  EXPECT_EQ(servers_of(single, 0), (Servers{6, 5}));
}

TEST(TrainingPlan, APartOfAKeyHasItsOwnElements) {
  // Key "two", the learnt parameters [10, 20), in parts of 3,000,000 and 1,000,000 B.
  const auto workload = two_layers();
  const ServerGroup servers{.count = 1, .sharding = make<Sharding>(R"({"type": "round-robin"})")};
  std::vector<Bucket> parts{{.first_unit = 0, .units = 1, .bytes = {3000000}},
                            {.first_unit = 0, .units = 1, .offset = {3000000}, .bytes = {1000000}}};
  const auto cut = cut_pieces(workload->workload, workload->by_tensor, parts, servers,
                              LinearCollective(LinearCost{}), Granularity::kTensor, 20);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0][0].bytes, Bytes{3000000});
  EXPECT_EQ(cut[0][0].ranges[0].begin, 10u);
  EXPECT_EQ(cut[0][0].ranges[0].end, 17u);  // floor(17.5)
  EXPECT_EQ(cut[1][0].bytes, Bytes{1000000});
  EXPECT_EQ(cut[1][0].ranges[0].begin, 17u);
  EXPECT_EQ(cut[1][0].ranges[0].end, 20u);
}

TEST(TrainingPlan, TheFirstBucketHasTheLastKey) {
  const auto cut = pieces(R"({"type": "round-robin"})", {1, 1}, 10);
  ASSERT_EQ(cut[0].size(), 1u);
  EXPECT_EQ(cut[0][0].server, 1);  // key 1, layer "two"
  EXPECT_EQ(cut[0][0].ranges[0].begin, 5u);
  EXPECT_EQ(cut[1][0].server, 0);
  EXPECT_EQ(cut[1][0].ranges[0].begin, 0u);
}

TEST(TrainingTimes, MeanStaleness) {
  EXPECT_EQ(TrainingTimes{}.mean_staleness(), 0);
  TrainingTimes times;
  times.staleness = {2, 0, 2};  // twice 0, twice 2
  EXPECT_EQ(times.mean_staleness(), 1);
}

/// Four workers, each a client of two servers: a worker's speed is an event, its trainer has two,
/// each bucket two, and each of its pieces ten. Twice as many steps are twice as many events.
TEST(TrainingPlan, EventsGrowWithPiecesAndSteps) {
  const auto events_of_a_step = [](int steps) {
    const TrainingPlan plan = plan_training(training_experiment(
        strategy(servers(2), kSgd, "wfbp"), 4, fmt::format(R"({{"steps": {}}})", steps)));
    double pieces = 0;
    for (const auto& of_bucket : plan.pieces)
      pieces += static_cast<double>(of_bucket.size());
    const auto played = static_cast<double>(plan.played_steps());
    EXPECT_EQ(training_events(plan, 1), (4 + 2 * 4 + 4 * (2 * 2 + 10 * pieces)) * played);
    EXPECT_EQ(training_events(plan, 3), 3 * training_events(plan, 1));
    EXPECT_NO_THROW(check_training_work(plan, 1));
    return training_events(plan, 1) / played;
  };
  EXPECT_EQ(events_of_a_step(10), events_of_a_step(20));
}

}  // namespace
}  // namespace steptime
