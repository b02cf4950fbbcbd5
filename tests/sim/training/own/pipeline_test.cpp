#include "tests/sim/training/own/pipeline.h"

#include "sim/core/error.h"
#include "sim/runtime/mediums.h"
#include "tests/support/fakes.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

constexpr int kReplicas = 2;
constexpr int kTensorRanks = 2;
constexpr std::int64_t kActivations = 1000;  // bytes

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
}

/// Two replicas of so many stages of two ranks; a pass forward takes 1 ms and one backward 2, a sum
/// in a tensor group or a data group what is said.
struct Pipelines {
  Pipelines(int stages, Duration tensor, Duration data) : stages_(stages) {
    for (int s = 0; s < stages; ++s) {
      for (int t = 0; t < kTensorRanks; ++t)
        datas.emplace_back(world, Name{"data group of stage", s}, kReplicas, medium(data));
    }
    for (int d = 0; d < kReplicas; ++d) {
      for (int s = 0; s < stages; ++s) {
        Group& group = tensors.emplace_back(world, Name{"tensor group of stage", s}, kTensorRanks,
                                            medium(tensor));
        for (int t = 0; t < kTensorRanks; ++t) {
          PipelineRank* const before = s > 0 ? &ranks[ranks.size() - kTensorRanks] : nullptr;
          const auto member = static_cast<std::size_t>(t);
          ranks.emplace_back(
              world, PipelineWork{milliseconds(1), milliseconds(2), {kActivations}, {1'000'000}},
              PipelineRank::Place{group, member,
                                  datas[static_cast<std::size_t>(s * kTensorRanks + t)],
                                  static_cast<std::size_t>(d), stages - 1 - s, before});
        }
      }
    }
  }
  std::unique_ptr<Medium> medium(Duration length) {
    return std::make_unique<AloneMedium>(
        world, collective, [length](Bytes) { return length; }, AloneMedium::PartsOf{});
  }
  void play(int micro_batches) {
    for (std::size_t r = 0; r < ranks.size(); ++r)
      world.spawn({"rank", static_cast<std::int64_t>(r)}, ranks[r].train(micro_batches));
    world.run();
    world.expect_over();
  }
  int stage(std::size_t rank) const { return static_cast<int>(rank) / kTensorRanks % stages_; }

  int stages_;
  World world;
  CostFunction collective{{}, [](Bytes) { return Duration{}; }};
  std::deque<Group> datas;
  std::deque<Group> tensors;
  std::deque<PipelineRank> ranks;
};

struct Makespan {
  int stages;
  int micro_batches;
  std::int64_t ms;
};

class OneForwardOneBackward : public testing::TestWithParam<Makespan> {};

TEST_P(OneForwardOneBackward, TakesWorkAndTheBubble) {
  // (m + p - 1) (F + B) with F = 1 ms and B = 2 ms (Narayanan et al., SC21, section 2.2.1).
  const auto [stages, micro_batches, length] = GetParam();
  Pipelines run(stages, {}, {});
  run.play(micro_batches);
  EXPECT_EQ(ms(run.world.now()), length);
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    // Stage s keeps the activations of p - s micro-batches at most.
    const Memory& memory = run.ranks[r].memory();
    EXPECT_EQ(memory.peak(), kActivations * std::min(micro_batches, stages - run.stage(r))) << r;
    EXPECT_EQ(memory.held(), 0) << r;
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, OneForwardOneBackward,
                         testing::Values(Makespan{4, 8, 33}, Makespan{8, 8, 45},
                                         Makespan{8, 32, 117}));

TEST(Pipeline, EachPassAndEachRankWaitForTheirSums) {
  // A sum of 1 ms in the tensor group makes passes of 2 and 3 ms. Stage 0 ends its last one at
  // (8 + 4 - 1) (2 + 3) = 55 ms and stage s, which is s passes backward away from it, at 55 - 3 s;
  // both replicas do so, and their gradients are added up in 7 ms more.
  Pipelines run(4, milliseconds(1), milliseconds(7));
  run.play(8);
  for (std::size_t r = 0; r < run.ranks.size(); ++r)
    EXPECT_EQ(ms(run.ranks[r].computed()), 55 - 3 * run.stage(r)) << r;
  EXPECT_EQ(ms(run.world.now()), 55 + 7);
}

TEST(Pipeline, TellsWhoWaitsForAReplicaThatHasStopped) {
  // Replica 1 makes no step. Stage 1 is through at 4 ms, the pass forward of both stages and its
  // own backward, and stage 0 at 6: they wait for their likes.
  Pipelines run(2, {}, {});
  for (const std::size_t r : {0U, 1U, 2U, 3U})
    run.world.spawn({"rank", static_cast<std::int64_t>(r)}, run.ranks[r].train(1));
  run.world.run();
  try {
    run.world.expect_over();
    FAIL();
  } catch (const ModelFailure& e) {
    EXPECT_STREQ(e.what(),
                 "deadlock after 0.006 s: nothing happens any more, but\n"
                 "  rank 0 waits for data group of stage 0: call 1 lacks members 1\n"
                 "  rank 1 waits for data group of stage 0: call 1 lacks members 1\n"
                 "  rank 2 waits for data group of stage 1: call 1 lacks members 1\n"
                 "  rank 3 waits for data group of stage 1: call 1 lacks members 1");
  }
}

}  // namespace
}  // namespace steptime
