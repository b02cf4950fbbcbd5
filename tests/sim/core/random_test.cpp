#include "sim/core/random.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Random, ANumberDependsOnItsPlaceAlone) {
  const RandomStream stream(7, Purpose::kOrder);
  const double first = stream.uniform(3, 5, 1);
  stream.uniform(3, 6, 1);
  EXPECT_EQ(stream.uniform(3, 5, 1), first);
  EXPECT_NE(RandomStream(8, Purpose::kOrder).uniform(3, 5, 1), first);
  EXPECT_NE(RandomStream(7, Purpose::kWeights).uniform(3, 5, 1), first);
  EXPECT_NE(stream.uniform(4, 5, 1), first);
  EXPECT_NE(stream.uniform(3, 5, 2), first);
}

TEST(Random, IsPhiloxOfSeedAndPlace) {
  // Random123's kat_vectors, philox4x32 10: counter 0 and key 0 give 6627e8d5 e169c58d bc57ac4c
  // 9b00dbd8; the number is the first two words' upper 53 bits of 64, the second word above.
  EXPECT_EQ(RandomStream(0, Purpose::kWorkerSpeed).uniform(0, 0),
            static_cast<double>(0xe169c58d6627e8d5 >> 11) * 0x1p-53);
}

TEST(Random, ShufflingIsAPermutationOfItsRound) {
  const RandomStream stream(1, Purpose::kOrder);
  std::vector<int> first{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<int> second = first;
  const std::vector<int> sorted = first;
  shuffle(std::span(first), stream, 0, 0);
  shuffle(std::span(second), stream, 0, 1);
  EXPECT_NE(first, sorted);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, sorted);
}

TEST(Random, ExponentialIsTheLogarithmOfAUniform) {
  const RandomStream stream(1, Purpose::kTest);
  double mean = 0;  // of n draws 1 within 5 / sqrt(n) = 0.05
  for (std::uint32_t i = 0; i < 10000; ++i) {
    const double drawn = stream.exponential(i);
    EXPECT_NEAR(drawn, -std::log1p(-stream.uniform(i, 0)), 1e-15 * (1 + drawn));
    EXPECT_GE(drawn, 0);
    mean += drawn / 10000;
  }
  EXPECT_NEAR(mean, 1, 0.05);
}

TEST(Random, MomentsOfTheDistributions) {
  // 100,000 draws: the mean of the uniforms is 1/2 within 5 * sqrt(1/12 / n) = 0.005; of the
  // normals, mean 0 within 5 / sqrt(n) = 0.016 and variance 1 within 5 * sqrt(2 / n) = 0.023.
  constexpr std::uint32_t kDraws = 100000;
  double mean = 0;
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const double u = RandomStream(1, Purpose::kOrder).uniform(0, i);
    EXPECT_TRUE(u >= 0 && u < 1);
    mean += u / kDraws;
    const double z = RandomStream(1, Purpose::kStepTime).normal(0, i);
    sum += z / kDraws;
    squares += z * z / kDraws;
  }
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(sum, 0, 0.016);
  EXPECT_NEAR(squares, 1, 0.023);
}

}  // namespace
}  // namespace steptime
