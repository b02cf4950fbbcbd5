#include "sim/collective/collective_program.h"

#include "netmodels/programs.h"
#include "tests/support/play.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Cut, FirstPartsAreLonger) {
  // 10 bytes in 4 parts: 3, 3, 2, 2, side by side.
  EXPECT_EQ(part_of({100, 10}, 0, 4), (Slice{100, 3}));
  EXPECT_EQ(part_of({100, 10}, 1, 4), (Slice{103, 3}));
  EXPECT_EQ(part_of({100, 10}, 2, 4), (Slice{106, 2}));
  EXPECT_EQ(part_of({100, 10}, 3, 4), (Slice{108, 2}));
  EXPECT_EQ(parts_of({100, 10}, 1, 2, 4), (Slice{103, 5}));
  EXPECT_EQ(parts_of({100, 10}, 2, 2, 4), (Slice{106, 4}));
  EXPECT_EQ(ceil_div(10, 4), 3);
}

TEST(Cut, FewerBytesThanPartsLeaveEmptyOnes) {
  EXPECT_EQ(part_of({0, 2}, 1, 3), (Slice{1, 1}));
  EXPECT_EQ(part_of({0, 2}, 2, 3), (Slice{2, 0}));
}

/// Both ends of every message name each other, with the same slice.
void expect_matched(const Program& program) {
  for (Rank r = 0; r < program.ranks(); ++r) {
    for (std::int32_t step = 0; step < program.steps(r); ++step) {
      const Op op = program.op(r, step);
      for (Rank k = 0; k < op.send.count; ++k) {
        const Op there = program.op(op.send.peer(k), op.send.step);
        bool found = false;
        for (Rank back = 0; back < there.recv.count; ++back) {
          if (there.recv.peer(back) != r) continue;
          found = there.recv.step == step && there.recv.slice_of(back) == op.send.slice_of(k);
        }
        EXPECT_TRUE(found) << "rank " << r << ", step " << step << ", to " << op.send.peer(k);
      }
    }
  }
}

TEST(Program, EveryMessageIsNamedByBothOfItsEnds) {
  for (Rank n = 1; n <= 20; ++n) {
    expect_matched(*ring_all_reduce(n, {0, 101}));
    expect_matched(*binomial_all_reduce(n, {0, 101}));
    expect_matched(*recursive_doubling(n, {0, 101}));
    expect_matched(*halving_doubling(n, {0, 101}));
    expect_matched(*tree_all_reduce(n, {0, 101}, 3, first_tree));
    expect_matched(*push_pull(n, 3, {0, 101}, 2));
    expect_matched(*hierarchical_all_reduce(n, 4, {0, 101}));
  }
}

TEST(Sequence, RanksOutsideAStageSkipIt) {
  // Ranks 0, 3 and 6 of 7 run a ring, then ranks 1 to 4 reduce to rank 1.
  std::vector<Sequence::Stage> stages;
  stages.push_back({.program = ring_all_reduce(3, {0, 30}), .stride = 3});
  stages.push_back({.program = binomial_reduce(4, {0, 30}), .first = 1});
  const Sequence sequence(7, std::move(stages));
  expect_matched(sequence);
  EXPECT_EQ(sequence.steps(0), 4);  // the ring only
  EXPECT_EQ(sequence.steps(1), 2);  // two children
  EXPECT_EQ(sequence.steps(3), 6);  // the ring, a child, the parent
  EXPECT_EQ(sequence.steps(5), 0);
  EXPECT_EQ(sequence.op(3, 0).send.first, 6);
  EXPECT_EQ(sequence.op(3, 5).send.first, 1);
}

TEST(Sequence, GroupsRunSideBySide) {
  std::vector<Sequence::Stage> stages;
  stages.push_back({.program = binomial_reduce(3, {0, 5}), .groups = 2, .group_stride = 3});
  const Sequence sequence(6, std::move(stages));
  expect_matched(sequence);
  EXPECT_EQ(sequence.op(4, 0).send.first, 3);
  EXPECT_EQ(sequence.op(3, 1).recv.first, 5);
}

}  // namespace
}  // namespace steptime
