#include "sim/learning/learning.h"
#include "tests/support/config_text.h"

#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Quadratic, TheOptimumIsKnown) {
  const auto bowl =
      make<Problem>(R"({"type": "quadratic", "dimensions": 3, "samples": 10, "noise": 2})");
  const std::vector<double> optimum{1, 2, 3};
  EXPECT_EQ(bowl->test(optimum).loss, 0);
  EXPECT_EQ(bowl->test(optimum).accuracy, 1);
  std::vector<std::int32_t> all(10);
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> g(3);
  bowl->gradient(optimum, all, g);
  for (const double each : g)
    EXPECT_NEAR(each, 0, 1e-14);  // opposite errors cancel
  EXPECT_EQ(bowl->test(std::vector<double>{0, 0, 0}).loss, 0.5 * (1 + 4 + 9));
}

TEST(Quadratic, WhatDivergedIsWrongAndNotNaN) {
  const auto bowl = make<Problem>(R"({"type": "quadratic", "dimensions": 2, "samples": 2})");
  const Score score = bowl->test(std::vector<double>{1e200, -1e200});
  EXPECT_EQ(score.accuracy, 0);
  EXPECT_TRUE(std::isfinite(score.loss));
}

TEST(Quadratic, CurvatureFallsToTheCondition) {
  const auto bowl =
      make<Problem>(R"({"type": "quadratic", "dimensions": 2, "samples": 2, "condition": 4})");
  std::vector<double> g(2);
  bowl->gradient(std::vector<double>{0, 0}, std::vector<std::int32_t>{0}, g);
  EXPECT_EQ(g, (std::vector<double>{-1, -0.5}));  // h = 1, 1/4; optimum 1, 2
}

}  // namespace
}  // namespace steptime
