#include "tests/models/learning/gradient_check.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Mlp, CountsParameters) {
  // 64 * 5 + 5 hidden, 5 * 10 + 10 output
  EXPECT_EQ(make<Problem>(R"({"type": "digits-mlp", "hidden": 5})")->parameters(), 385u);
}

TEST(Mlp, StartsDifferentlyForEverySeed) {
  const auto problem = make<Problem>(R"({"type": "digits-mlp"})");
  EXPECT_EQ(problem->initial(1), problem->initial(1));
  EXPECT_NE(problem->initial(1), problem->initial(2));
}

TEST(Mlp, AGradientStepLowersTheTrainingLoss) {
  // Along -g, the loss falls at the rate |g|^2: a second gradient nearby is almost parallel.
  const auto problem = make<Problem>(R"({"type": "digits-mlp", "hidden": 8})");
  const std::vector<std::int32_t> samples{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<double> w = problem->initial(3);
  std::vector<double> g(w.size());
  std::vector<double> h(w.size());
  problem->gradient(w, samples, g);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] -= 1e-4 * g[i];
  problem->gradient(w, samples, h);
  double gg = 0;
  double gh = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    gg += g[i] * g[i];
    gh += g[i] * h[i];
  }
  EXPECT_GT(gg, 0);
  EXPECT_NEAR(gh / gg, 1, 0.05);
}

TEST(Mlp, Learns) {
  expect_learns(R"({"type": "digits-mlp"})", 0.95);
}

}  // namespace
}  // namespace steptime
