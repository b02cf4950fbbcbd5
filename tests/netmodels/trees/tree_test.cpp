#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"
#include "tests/support/presets.h"
#include "tests/support/trees.h"

#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kPlanners[] = {"kernighan-lin", "backtracking", "optimal", "joint"};

std::string with_planner(const std::string& planner, const std::string& more = "") {
  return R"({"type": "tree", "planner": {"type": ")" + planner + "\"}" + more + "}";
}

TEST(Tree, ItsTimeIsThatOfItsMessages) {
  for (const std::int64_t n : {1, 2, 4, 8}) {
    const Cluster cluster = preset_cluster("p3.16xlarge", 1, n);
    const auto tree = collective_of(R"({"type": "tree"})", cluster);
    MessageTimes played(cluster, *tree);
    for (const std::int64_t bytes : {0, 1, 4096, 1'000'000, 40'000'000})
      EXPECT_EQ(played.time({bytes}), tree->time({bytes})) << n << " GPUs, " << bytes << " B";
  }
  // A lone GPU has nothing to do.
  EXPECT_EQ(
      collective_of(R"({"type": "tree"})", preset_cluster("p3.16xlarge", 1, 1))->time({1'000'000}),
      Duration{});
}

TEST(Tree, OfFourGpusTakesTwoCopiesUpAndTwoDown) {
  // GPUs 0 to 3 of a p3 by recursive halving, root 0: 3 -> 0 and 2 -> 1 over two NVLinks, 1 -> 0
  // over one; the same down. Every sum reads and writes at 0.00333 ns/B.
  const auto tree = collective_of(R"({"type": "tree"})", preset_cluster("p3.16xlarge", 1, 4));
  const double m = 4e6;
  const double fast = 0.6e-6 + m / 47.88e9;
  const double slow = 0.6e-6 + m / 23.94e9;
  EXPECT_NEAR(to_seconds(tree->time({4'000'000})), 2 * (fast + slow) + 2 * m * 0.00333e-9, 6e-12);
}

TEST(Tree, CutsALargeArrayIntoSlices) {
  const Cluster cluster = preset_cluster("p3.16xlarge");
  const auto tree = collective_of(R"({"type": "tree"})", cluster);
  EXPECT_EQ(tree->choice({40'000'000}), "one tree");
  EXPECT_EQ(tree->programs({40'000'000}).size(), 1U);
  // 10,000,001 elements of 4 B are 1,250,000 rows of 4 B for each GPU, and one more for the last.
  EXPECT_EQ(tree->choice({40'000'004}), "8 trees");
  const Programs programs = tree->programs({40'000'004});
  ASSERT_EQ(programs.size(), 8U);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    // The root of the tree receives first.
    const Slice slice = programs[i]->op(static_cast<Rank>(i), 0).recv.slice;
    EXPECT_EQ(slice, (Slice{offset, i < 7 ? 5'000'000 : 5'000'004}));
    offset += slice.bytes;
  }
}

TEST(Tree, SumsEverySliceOnce) {
  for (const char* planner : kPlanners) {
    for (const Rank n : {2, 3, 6, 8}) {
      const Cluster cluster = preset_cluster("p3.16xlarge", 1, n);
      const auto tree =
          collective_of(with_planner(planner, R"(, "array_bound": "0 B", "row": "3 B")"), cluster);
      for (const std::int64_t bytes : {6 * n - 1, 6 * n, 6 * n + 4}) {
        const Programs programs = tree->programs({bytes});
        EXPECT_EQ(programs.size(), static_cast<std::size_t>(bytes / 3 < 2 * n ? 1 : n));
        EXPECT_TRUE(all_reduces(programs, n, bytes, cluster))
            << planner << ' ' << n << ' ' << bytes;
      }
    }
  }
}

TEST(Tree, SlicesOfAPairGoBothWaysAtOnce) {
  // Two GPUs with one NVLink: half of the data from each to the other, and back.
  Cluster cluster = preset_cluster("p3.16xlarge", 1, 2);
  cluster.reduction = {};
  const auto tree = collective_of(R"({"type": "tree", "array_bound": "0 B"})", cluster);
  MessageTimes played(cluster, *tree);
  EXPECT_NEAR(to_seconds(played.time({2'000'000})), 2 * (0.6e-6 + 1e6 / 23.94e9), 4e-12);
}

TEST(Tree, TimeDoesNotFallWhereRowsAreLeft) {
  // Two GPUs: 23,555,405 rows leave the last slice one more, and 23,555,406 none.
  const Cluster cluster = preset_cluster("p3.16xlarge", 1, 2);
  const auto tree = collective_of(R"({"type": "tree"})", cluster);
  EXPECT_GT(MessageTimes(cluster, *tree).time({94'221'623}),
            MessageTimes(cluster, *tree).time({94'221'624}));
  EXPECT_LE(tree->time({94'221'623}), tree->time({94'221'624}));
  EXPECT_EQ(tree->time({94'221'624}), MessageTimes(cluster, *tree).time({94'221'624}));
}

TEST(Tree, TimeDoesNotFallAtTheBound) {
  for (const char* machine : {"p3.16xlarge", "dgx-1-p100", "dgx-a100", "p2.16xlarge"}) {
    const auto tree = collective_of(R"({"type": "tree"})", preset_cluster(machine));
    Duration before{};
    for (const std::int64_t bytes :
         {0, 1, 1'000'000, 39'999'999, 40'000'000, 40'000'004, 50'000'000, 400'000'000}) {
      EXPECT_GE(tree->time({bytes}), before) << machine << ' ' << bytes;
      before = tree->time({bytes});
    }
    EXPECT_EQ(tree->startup(), tree->time({0}));
  }
}

TEST(Tree, SaysHowMuchLongerTheTimeOfTheBoundIs) {
  Cluster cluster = preset_cluster("p3.16xlarge");
  cluster.reduction = {};
  const auto tree = collective_of(R"({"type": "tree"})", cluster);
  MessageTimes played(cluster, *tree);
  const double whole = to_seconds(tree->time({40'000'003}));
  EXPECT_EQ(whole, to_seconds(tree->time({40'000'004})));
  ASSERT_TRUE(tree->error_bound());
  // Slices of 1,250,000 rows, of which the last may have 7 more.
  EXPECT_DOUBLE_EQ(tree->error_bound()->least, 1'250'000 / 1'250'007.0 - 1);
  EXPECT_EQ(tree->error_bound()->most, whole / to_seconds(played.time({40'000'004})) - 1);
  EXPECT_GT(tree->error_bound()->most, 0);
  EXPECT_EQ(tree->outside_domain({40'000'003}), "");
  EXPECT_NE(tree->outside_domain({40'000'004}), "");
  EXPECT_EQ(tree->outside_domain({4'000'000'000}), "");
  // All slices and no bound: nothing stands for anything else.
  EXPECT_FALSE(collective_of(R"({"type": "tree", "row": "1 B", "array_bound": "0 B"})",
                             preset_cluster("p3.16xlarge", 1, 1))
                   ->error_bound());
}

TEST(Tree, SumsOfSeveralTreesAreAnEstimate) {
  // Three GPUs with ports of 1 ns/B and sums of 0.5 ns/B, slices of 1 MB. A tree of depth 2 hands
  // one slice to another GPU, then one to the root: two sums on its path, 1 ms in all.
  Cluster cluster = star_cluster(1);
  cluster.gpus_per_node = 3;
  cluster.intra_node = {Duration{}, {1e9}};
  const char* config = R"({"type": "tree", "array_bound": "0 B"})";
  const Duration copies = collective_of(config, cluster)->time({3'000'000});
  cluster.reduction = {0.5e-9};
  const auto tree = collective_of(config, cluster);
  EXPECT_EQ(tree->time({3'000'000}), copies + std::chrono::milliseconds(1));
  EXPECT_NE(tree->outside_domain({3'000'000}), "");
  const double played = to_seconds(MessageTimes(cluster, *tree).time({3'000'000}));
  const double time = to_seconds(tree->time({3'000'000}));
  EXPECT_GE(time, played * (1 + tree->error_bound()->least));
  EXPECT_LE(time, played * (1 + tree->error_bound()->most));
}

TEST(Tree, MoreBandwidthIsNeverSlowerWhereSumsRace) {
  // Here the messages themselves take 124.41 ms, and with a thousandth more bandwidth 126.36 ms.
  Cluster cluster = star_cluster(1, TimePerByte{1e-9});
  cluster.gpus_per_node = 5;
  Duration before = Duration::max();
  for (const double factor : {1.0, 1.001, 1.002, 1.01, 1.1, 2.0}) {
    cluster.intra_node = {Duration{}, {54.4e9 * factor}};
    const Duration time = collective_of(R"({"type": "tree"})", cluster)->time({102'479'641});
    EXPECT_LE(time, before) << factor;
    before = time;
  }
}

TEST(Tree, JointTreesCarrySlicesFastest) {
  // The busiest NVLink carries 1.5 slices in each direction where MXNet's trees make it carry 2.
  const Cluster cluster = preset_cluster("p3.16xlarge");
  const auto mxnet = collective_of(with_planner("kernighan-lin"), cluster);
  const auto joint = collective_of(with_planner("joint"), cluster);
  EXPECT_LT(joint->time({800'000'000}), mxnet->time({800'000'000}));
}

TEST(Tree, RefusesWhatMxnetCannotDo) {
  const auto error = [](const std::string& json, const Cluster& cluster) {
    return message_of<InputError>([&] { collective_of(json, cluster); });
  };
  EXPECT_EQ(error(R"({"type": "tree"})", preset_cluster("p3.16xlarge", 2, 8)),
            "x.json: /collective/type: trees are for one node of at most 16 GPUs, got 2 of 8");
  EXPECT_EQ(error(R"({"type": "tree"})", star_cluster(17)),
            "x.json: /collective/type: trees are for one node of at most 16 GPUs, got 17 of 1");
  EXPECT_TRUE(
      error(R"({"type": "tree", "planner": {"type": "prim"}})", preset_cluster("p3.16xlarge"))
          .starts_with("x.json: /collective/planner/type: unknown \"prim\"; known: "));
}

}  // namespace
}  // namespace steptime
