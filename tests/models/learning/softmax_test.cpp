#include "tests/models/learning/gradient_check.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Softmax, StartsWithEqualChances) {
  const auto problem = make<Problem>(R"({"type": "digits-softmax"})");
  EXPECT_EQ(problem->parameters(), 650u);
  EXPECT_NEAR(problem->test(problem->initial(1)).loss, std::log(10.0), 1e-12);
}

TEST(Softmax, GradientIsTheSlopeOfTheLoss) {
  const auto problem = make<Problem>(R"({"type": "digits-softmax"})");
  // d loss / d bias_k of one sample at zero: 1/10, less 1 for its class.
  std::vector<double> g(problem->parameters());
  problem->gradient(problem->initial(1), std::vector<std::int32_t>{5}, g);
  for (std::int32_t k = 0; k < 10; ++k)
    EXPECT_NEAR(g[static_cast<std::size_t>(640 + k)], k == problem->label(5) ? -0.9 : 0.1, 1e-15);
}

TEST(Softmax, Learns) {
  expect_learns(R"({"type": "digits-softmax"})", 0.95);
}

}  // namespace
}  // namespace steptime
