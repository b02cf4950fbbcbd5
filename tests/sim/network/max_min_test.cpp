#include "sim/network/max_min.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Path = std::array<std::uint32_t, 2>;

TEST(MaxMin, OneFlowGetsItsNarrowestChannel) {
  MaxMinSolver solver;
  const std::uint32_t wide = solver.add_channel(10);
  const std::uint32_t narrow = solver.add_channel(4);
  solver.add_flow(Path{wide, narrow});
  EXPECT_EQ(solver.solve()[0], 4);
}

TEST(MaxMin, WhatOneFlowCannotUseGoesToTheOthers) {
  //  a ==== 10 ==== b -- 2 -- c     flows: ab, ab, abc
  // The third is held to 2 by the second channel; the first two share the other 8.
  MaxMinSolver solver;
  const std::uint32_t first = solver.add_channel(10);
  const std::uint32_t second = solver.add_channel(2);
  solver.add_flow(std::array{first});
  solver.add_flow(std::array{first});
  solver.add_flow(Path{first, second});
  const auto rates = solver.solve();
  EXPECT_EQ(rates[0], 4);
  EXPECT_EQ(rates[1], 4);
  EXPECT_EQ(rates[2], 2);
}

TEST(MaxMin, EqualFlowsGetEqualRates) {
  MaxMinSolver solver;
  const std::uint32_t channel = solver.add_channel(1);
  for (int i = 0; i < 7; ++i)
    solver.add_flow(std::array{channel});
  const auto rates = solver.solve();
  for (const double rate : rates)
    EXPECT_EQ(rate, 1.0 / 7);
}

TEST(MaxMin, ClearsForTheNextProblem) {
  MaxMinSolver solver;
  solver.add_flow(std::array{solver.add_channel(3)});
  EXPECT_EQ(solver.solve()[0], 3);
  solver.clear();
  solver.add_flow(std::array{solver.add_channel(5)});
  ASSERT_EQ(solver.solve().size(), 1U);
  EXPECT_EQ(solver.solve().size(), 1U);
}

TEST(MaxMin, NoFlowsNoRates) {
  MaxMinSolver solver;
  solver.add_channel(1);
  EXPECT_TRUE(solver.solve().empty());
}

}  // namespace
}  // namespace steptime
