// Which of a table's times are not believed.
#include "sim/evidence/outliers.h"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::vector<std::size_t> doubted(const std::vector<double>& seconds) {
  Points points;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    points.push_back({static_cast<double>(std::size_t{8} << i), seconds[i]});
  doubt_outliers(points);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].weight == 0) places.push_back(i);
  }
  return places;
}
using Places = std::vector<std::size_t>;

TEST(Outliers, ASpikeBetweenSizesThatGoTogether) {
  EXPECT_EQ(doubted({10, 10, 50, 10, 11, 12, 14}), Places{2});
  EXPECT_EQ(doubted({10, 10, 10, 10, 3, 12, 14}), Places{4});
  EXPECT_EQ(doubted({10, 20, 40, 400, 160, 320, 640}), Places{3});
  EXPECT_EQ(doubted({40, 10, 10, 10, 11, 12, 14}), Places{0});
  EXPECT_EQ(doubted({10, 10, 10, 11, 12, 14, 5}), Places{6});
}

/// A change of protocol takes longer from some size on, in proportion or by a step.
TEST(Outliers, AChangeIsNone) {
  EXPECT_EQ(doubted({10, 10, 10, 15, 15, 16, 18}), Places{});
  EXPECT_EQ(doubted({10, 20, 40, 80, 240, 480, 960}), Places{});
  EXPECT_EQ(doubted({10, 11, 13, 17, 25, 41, 73}), Places{});
  EXPECT_EQ(doubted({1, 2, 40, 3}), Places{}) << "four sizes do not tell";
}

TEST(Outliers, TheMedianOfAnEvenNumberIsBetweenTheMiddleOnes) {
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({3, 1, 2}), 2);
}

}  // namespace
}  // namespace steptime
