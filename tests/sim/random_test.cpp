#include "sim/random.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Random, StreamsAreIndependentOfTheOrderOfAsking) {
  const double first = uniform(7, Purpose::kOrder, 3, 5);
  uniform(7, Purpose::kOrder, 3, 6);
  EXPECT_EQ(uniform(7, Purpose::kOrder, 3, 5), first);
  EXPECT_NE(uniform(8, Purpose::kOrder, 3, 5), first);
  EXPECT_NE(uniform(7, Purpose::kWeights, 3, 5), first);
  EXPECT_NE(uniform(7, Purpose::kOrder, 4, 5), first);
}

TEST(Random, MomentsOfTheDistributions) {
  // 100,000 draws: the mean of the uniforms is 1/2 within 5 * sqrt(1/12 / n) = 0.005; of the
  // normals, mean 0 within 5 / sqrt(n) = 0.016 and variance 1 within 5 * sqrt(2 / n) = 0.023.
  constexpr std::uint32_t kDraws = 100000;
  double mean = 0;
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const double u = uniform(1, Purpose::kOrder, 0, i);
    EXPECT_TRUE(u >= 0 && u < 1);
    mean += u / kDraws;
    const double z = normal(1, Purpose::kStepTime, 0, i);
    sum += z / kDraws;
    squares += z * z / kDraws;
  }
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(sum, 0, 0.016);
  EXPECT_NEAR(squares, 1, 0.023);
}

}  // namespace
}  // namespace steptime
