#include "netmodels/trees/backtracking.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/trees.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Gpus = std::vector<Gpu>;

TEST(Backtracking, KnowsWhatMayBecomeATree) {
  const Json test = mxnet_test("TestIsValid");
  const LinkMatrix weights = matrix_of(test.at("W"));
  int checked = 0;
  for (const Json& each : test.at("cases")) {
    if (each.contains("caveat")) continue;  // its answer lies in a row beside the one it is about
    EXPECT_EQ(may_become_tree(weights, each.at("state").get<Gpus>(), each.at("row")),
              each.at("valid"))
        << each;
    ++checked;
  }
  EXPECT_EQ(checked, 6);
}

TEST(Backtracking, LetsNoGpuSendTwice) {
  for (const Json& test : mxnet_cases("TestPostprocess")) {
    Gpus leaves = test.at("state").get<Gpus>();
    remove_second_sends(leaves);
    EXPECT_EQ(leaves, test.at("out").get<Gpus>());
  }
}

TEST(Backtracking, ScoresLinksThatAreUsedTwiceAndGpusThatTakePartTwice) {
  // Two GPUs on four leaves: 2 for the pair, and -10 because 0 meets itself above the leaves.
  const LinkMatrix two{{0, 2}, {2, 0}};
  EXPECT_EQ(score(two, Gpus{0, 1}), 2);
  EXPECT_EQ(score(two, Gpus{0, 1, 0, 0}), 2 - 10);
  // 0 and 1 are a pair of leaves twice: 2 + 2 - 100, and 0 meets itself above them.
  EXPECT_EQ(score(two, Gpus{0, 1, 0, 1}), 4 - 100 - 10);
}

TEST(Backtracking, PenalisesBothDirectionsOfAPair) {
  const Json test = mxnet_test("TestUpdateWeight");
  LinkMatrix weights = matrix_of(test.at("W"));
  penalise(weights, ReduceTree(test.at("topo").get<Gpus>()), test.at("alpha").get<float>());
  EXPECT_EQ(weights, matrix_of(test.at("W_out")));
  // TestEwisemult: every weight times alpha.
  const Json product = mxnet_test("TestEwisemult");
  for (std::size_t i = 0; i < product.at("w").size(); ++i) {
    LinkMatrix one(2);
    one.set(0, 1, product.at("w")[i]);
    penalise(one, ReduceTree({0, 0, 1}), product.at("alpha").get<float>());
    EXPECT_EQ(one.at(0, 1), product.at("out")[i].get<float>());
  }
}

TEST(Backtracking, GivesTheRightSize) {
  const Json test = mxnet_test("TestComputeTreesFromRoot1");
  const ReduceTree tree = backtracking(matrix_of(test.at("W")), test.at("root"));
  EXPECT_EQ(tree.array().size(), test.at("topo_size"));
  EXPECT_EQ(tree.level_starts().size(), test.at("scan_size"));
}

TEST(Backtracking, FailsAsMxnetDoesWhereNoTreeIsBalanced) {
  // Five in a chain have none from its end: the other end is four links away, and there are three
  // levels. Halving always gets stuck with five.
  LinkMatrix chain(5);
  for (Gpu gpu = 1; gpu < 5; ++gpu)
    chain.set(gpu - 1, gpu, 2);
  for (const bool backtracks : {false, true}) {
    EXPECT_EQ(message_of<ModelFailure>([&] { mxnet_planner(backtracks, 0.7)->plan(chain); }),
              "no balanced binary tree from GPU 0 over linked pairs of GPUs only");
  }
}

TEST(Backtracking, FindsNoneInAChainOfSixteen) {
  // GPU 0 would have to receive four times, and has one link.
  LinkMatrix chain(16);
  for (Gpu gpu = 1; gpu < 16; ++gpu)
    chain.set(gpu - 1, gpu, 2);
  EXPECT_THROW(backtracking(chain, 0), ModelFailure);
}

TEST(Backtracking, RefusesAPenaltyBeyondOne) {
  EXPECT_EQ(message_of<InputError>([] { mxnet_planner(true, 1.5); }),
            "x.json: /tree-planner/penalty: must be more than 0 and at most 1, got 1.5");
}

}  // namespace
}  // namespace steptime
