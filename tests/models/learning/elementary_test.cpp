#include "models/learning/elementary.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// The distance of x from y in units of y's last place.
double ulps(double x, double y) {
  const double place = std::nextafter(std::abs(y), std::numeric_limits<double>::infinity());
  return std::abs(x - y) / (place - std::abs(y));
}

TEST(Elementary, ExpIsTheLibrarys) {
  for (double x = -700; x < 700; x += 0.137)
    ASSERT_LE(ulps(portable_exp(x), std::exp(x)), 1) << x;
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-800), 0);
  EXPECT_EQ(portable_exp(710), std::numeric_limits<double>::infinity());
}

TEST(Elementary, LogIsTheLibrarys) {
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    ASSERT_LE(ulps(portable_log(x), std::log(x)), 3) << x;
  for (double x = 0.5; x < 2; x += 0.00137)
    ASSERT_LE(ulps(portable_log(x), std::log(x)), 3) << x;
  EXPECT_EQ(portable_log(1), 0);
}

/// Bits that were worked out once, with gcc 12: any compiler and library must give them.
TEST(Elementary, EveryCompilerGivesTheseBits) {
  EXPECT_EQ(portable_exp(-1), 0x1.78b56362cef38p-2);
  EXPECT_EQ(portable_log(10), 0x1.26bb1bbb55516p+1);
}

}  // namespace
}  // namespace steptime
