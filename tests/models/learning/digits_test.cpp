#include "models/learning/digits.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Digits, EveryFourthOf1797IsForTesting) {
  EXPECT_EQ(digits().test.labels.size(), 449u);
  EXPECT_EQ(digits().training.labels.size(), 1348u);
  EXPECT_EQ(digits().training.pixels.rows(), 1348);
}

TEST(Digits, FirstImage) {
  // First line of traces/digits/digits.csv: 0,0,5,13,9,1,0,0,... and the digit 0.
  EXPECT_EQ(digits().training.labels[0], 0);
  EXPECT_DOUBLE_EQ(digits().training.pixels(0, 2), 5.0 / 16);
  EXPECT_DOUBLE_EQ(digits().training.pixels(0, 3), 13.0 / 16);
  EXPECT_EQ(digits().test.labels[0], 3);  // the fourth line
}

}  // namespace
}  // namespace steptime
