#include "netmodels/trees/gpu_tree_program.h"

#include "tests/support/play.h"
#include "tests/support/presets.h"
#include "tests/support/trees.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Way = GpuTreeProgram::Way;

constexpr const char* kPlanners[] = {"kernighan-lin", "backtracking", "optimal", "joint"};

std::vector<ReduceTree> plan(const std::string& planner, const Cluster& cluster) {
  return make<TreePlanner>(Json{{"type", planner}}.dump())->plan(link_weights(link_codes(cluster)));
}

Programs program_of(const ReduceTree& tree, Rank ranks, std::int64_t bytes, Way way) {
  return one(std::make_unique<GpuTreeProgram>(tree, ranks, Slice{0, bytes}, way));
}

TEST(GpuTreeProgram, SumsEveryContributionOnceAtTheRoot) {
  for (const char* planner : kPlanners) {
    for (const Rank n : {2, 3, 5, 6, 7, 8}) {
      const Cluster cluster = preset_cluster("p3.16xlarge", 1, n);
      const auto start = random_data(n, 37);
      for (const ReduceTree& tree : plan(planner, cluster)) {
        const auto end = carry(program_of(tree, n, 37, Way::kUp), cluster, start);
        ASSERT_FALSE(end.empty()) << planner << ' ' << n;
        EXPECT_EQ(end[static_cast<std::size_t>(tree.root())], sum_of(start)) << planner << ' ' << n;
        EXPECT_TRUE(all_reduces(program_of(tree, n, 37, Way::kUpAndDown), n, 37, cluster));
      }
    }
  }
}

TEST(GpuTreeProgram, BroadcastsWhatTheRootHas) {
  const Cluster cluster = preset_cluster("p3.16xlarge");
  const auto start = random_data(8, 11);
  for (const ReduceTree& tree : plan("kernighan-lin", cluster)) {
    for (const auto& values : carry(program_of(tree, 8, 11, Way::kDown), cluster, start))
      EXPECT_EQ(values, start[static_cast<std::size_t>(tree.root())]);
  }
}

/// T(v) = max(T(left), T(right) + alpha + M / B) + gamma M, s, over a place of the tree's array. On
/// p3 a pair has an NVLink or two of 0.6 us and 23.94 GB/s.
double recursion(const ReduceTree& tree, const LinkMatrix& weights, std::size_t place, double bytes,
                 double gamma) {
  if (2 * place + 1 >= tree.array().size()) return 0;
  const double left = recursion(tree, weights, 2 * place + 1, bytes, gamma);
  const Gpu to = tree.array()[2 * place + 1];
  const Gpu from = tree.array()[2 * place + 2];
  if (from == to) return left;
  const double right = recursion(tree, weights, 2 * place + 2, bytes, gamma);
  const double copy = 0.6e-6 + bytes / (23.94e9 * (static_cast<double>(weights.at(to, from)) - 1));
  return std::max(left, right + copy) + gamma * bytes;
}

TEST(GpuTreeProgram, AReductionTakesWhatItsRecursionSays) {
  const Cluster cluster = preset_cluster("p3.16xlarge");
  const Machine machine(cluster);
  const LinkMatrix weights = p3_weights();
  for (const char* planner : kPlanners) {
    for (const ReduceTree& tree : plan(planner, cluster)) {
      for (const double bytes : {0.0, 4096.0, 1e6, 4e8}) {
        const Duration played =
            played_time(program_of(tree, 8, static_cast<std::int64_t>(bytes), Way::kUp), machine,
                        cluster.reduction, cluster.messages);
        const double expected =
            recursion(tree, weights, 0, bytes, cluster.reduction.seconds_per_byte);
        // Each of at most six copies and sums is rounded to a picosecond.
        EXPECT_NEAR(to_seconds(played), expected, 1e-9 * expected + 3e-12)
            << planner << ", root " << tree.root() << ", " << bytes << " B";
      }
    }
  }
}

TEST(GpuTreeProgram, ACopyDoesNotWaitForItsReceiver) {
  //      0          0 gets the sum of 2 and 3 before its own with 1, whose link is slow: the copy
  //    0   2        2 -> 0 goes meanwhile.
  //   0 1 2 3
  auto node = std::make_shared<Topology>();
  for (int gpu = 0; gpu < 4; ++gpu)
    node->add_vertex("gpu" + std::to_string(gpu), VertexKind::kGpu);
  for (Topology::Vertex a = 0; a < 4; ++a) {
    for (Topology::Vertex b = a + 1; b < 4; ++b)
      node->add_link({a, b, {}, {a == 0 && b == 1 ? 1e9 : 4e9}, 1, ""});
  }
  Cluster cluster = preset_cluster("p3.16xlarge", 1, 4);
  cluster.node = node;
  const ReduceTree tree = ReduceTree::above(std::vector<Gpu>{0, 1, 2, 3});
  // 4000 B: 4 us from 1 to 0; 1 us from 3 to 2 and 1 us from 2 to 0 lie within.
  EXPECT_EQ(played_time(program_of(tree, 4, 4000, Way::kUp), Machine(cluster), {}, {}),
            std::chrono::microseconds(4));
  // With sums of 1 us each: 1 to 0 at 4, its sum at 5, the other one at 6.
  EXPECT_EQ(played_time(program_of(tree, 4, 4000, Way::kUp), Machine(cluster), {2.5e-10}, {}),
            std::chrono::microseconds(6));
}

TEST(GpuTreeProgram, WhatAGpuSendsDownLeavesOneAfterTheOther) {
  // 0 sends to 2, then to 1; 2 to 3 while 0 sends to 1: two messages, of which 2 is not the slower.
  const Cluster cluster = preset_cluster("p3.16xlarge", 1, 4);
  const ReduceTree tree = ReduceTree::above(std::vector<Gpu>{0, 1, 2, 3});
  // 0 - 2 and 0 - 1 have one NVLink, 2 - 3 two.
  const double each = 0.6e-6 + 1e6 / 23.94e9;
  EXPECT_NEAR(
      to_seconds(played_time(program_of(tree, 4, 1'000'000, Way::kDown), Machine(cluster), {}, {})),
      2 * each, 2e-12);
}

}  // namespace
}  // namespace steptime
