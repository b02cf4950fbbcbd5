#include "sim/collective/link_load.h"

#include "tests/support/trees.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(LinkLoad, CountsUsesPerNvlinkAndDirection) {
  // 1 -> 0 over two NVLinks, twice; 0 -> 1 once.
  const LinkMatrix weights{{0, 3}, {3, 0}};
  LinkLoad load(weights);
  const auto to_zero = ReduceTree({0, 0, 1});
  load.add(to_zero, 2);
  load.add(ReduceTree({1, 1, 0}), 1);
  EXPECT_EQ(load.of(1, 0), 1);
  EXPECT_EQ(load.of(0, 1), 0.5);
  EXPECT_EQ(load.with(0, 1, 1), 1);
  EXPECT_EQ(load.busiest().nvlink, 1);
  EXPECT_EQ(load.busiest().other, 0);
  load.add(to_zero, -2);
  EXPECT_EQ(load.busiest().nvlink, 0.5);
}

TEST(LinkLoad, CountsPcieAsTheShareThatItWeighs) {
  const LinkMatrix weights{{0, .25}, {.25, 0}};
  LinkLoad load(weights);
  load.add(ReduceTree({0, 0, 1}), 1);
  EXPECT_EQ(load.busiest().other, 4);
  EXPECT_EQ(load.busiest().nvlink, 0);
}

TEST(LinkLoad, OfMxnetsTreesOnAP3IsTwoOrThree) {
  for (const auto& [backtracks, expected] : {std::pair{false, 2.0}, {true, 3.0}}) {
    const LinkMatrix weights = p3_weights();
    LinkLoad load(weights);
    for (const ReduceTree& tree : mxnet_planner(backtracks, 0.7)->plan(weights))
      load.add(tree, 1);
    EXPECT_EQ(load.busiest().nvlink, expected);
  }
}

}  // namespace
}  // namespace steptime
