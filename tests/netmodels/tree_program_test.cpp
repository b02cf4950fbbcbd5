#include "netmodels/programs.h"
#include "sim/config/json.h"
#include "tests/support/play.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Json trees() {
  const std::string file =
      std::string(STEPTIME_SOURCE_DIR) + "/tests/netmodels/double_binary_trees.json";
  return parse_json(read_file(file), file);
}

/// Children in either order: a tree has no left and right.
TreePlace sorted(TreePlace place) {
  std::sort(std::begin(place.down), std::end(place.down));
  return place;
}

TEST(TreeProgram, BuildsTheTreesOfNccl) {
  const Json sets = trees();
  for (const auto& [key, rule] : {std::pair{"up_to_2.7.8", SecondTree::kUpTo278},
                                  std::pair{"from_2.8.4", SecondTree::kFrom284}}) {
    EXPECT_EQ(sets.at(key).size(), 12U);
    for (const auto& [count, ranks] : sets.at(key).items()) {
      const auto n = static_cast<Rank>(std::stoi(count));
      for (Rank r = 0; r < n; ++r) {
        const Json& row = ranks.at(static_cast<std::size_t>(r));
        const TreePlace first{row.at(0), {row.at(1), row.at(2)}};
        const TreePlace second{row.at(3), {row.at(4), row.at(5)}};
        EXPECT_EQ(sorted(first_tree(r, n)), sorted(first)) << n << " ranks, rank " << r;
        EXPECT_EQ(sorted(second_tree(r, n, rule)), sorted(second)) << n << " ranks, rank " << r;
      }
    }
  }
}

TreePlace second_old(Rank r, Rank n) {
  return second_tree(r, n, SecondTree::kUpTo278);
}
TreePlace second_new(Rank r, Rank n) {
  return second_tree(r, n, SecondTree::kFrom284);
}

TEST(TreeProgram, LeavesTheSumOnEveryRank) {
  for (Rank n = 1; n <= 33; ++n) {
    for (const std::int64_t chunks : {1, 2, 5}) {
      for (const auto second : {second_old, second_new}) {
        Programs programs;
        programs.push_back(tree_all_reduce(n, {0, 50}, chunks, first_tree));
        programs.push_back(tree_all_reduce(n, {50, 51}, chunks, second));
        EXPECT_TRUE(all_reduces(programs, n, 101, star_cluster(n, kGamma))) << n << ' ' << chunks;
      }
    }
  }
}

TEST(TreeProgram, TwoRanksCostAMessageUpAndOneDown) {
  //  0 -> 1 is the whole tree: alpha + M beta + M gamma, then alpha + M beta.
  EXPECT_EQ(play(tree_all_reduce(2, {0, 1000}, 1, first_tree), star_cluster(2, kGamma)),
            2 * message_ps(1000) + sum_ps(1000));
}

TEST(TreeProgram, ChunksFollowEachOther) {
  //  0
  //  |     A chain of 3 ranks (0 <- 2 <- 1): with 2 chunks of 1000 B a rank works on one chunk
  //  2     while the next arrives. Up: 3 turns of (alpha + 1000 beta); down: 3 more.
  //  |
  //  1
  EXPECT_EQ(play(tree_all_reduce(3, {0, 2000}, 2, first_tree), star_cluster(3)),
            6 * message_ps(1000));
}

}  // namespace
}  // namespace steptime
