#include "models/learning/elementary.h"

#include <cmath>
#include <limits>

namespace steptime {
namespace {

// ln 2 in two parts: the first has 32 bits, so that its product with an exponent is exact (Cody and
// Waite).
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

}  // namespace

double portable_exp(double x) {
  if (x != x) return x;
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  // x = k ln 2 + r with |r| <= ln 2 / 2; floor and ldexp are exact.
  const double k = std::floor(x * kInverseLn2 + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  // Taylor's series of e^r by Horner's rule: the first term left out is below 2^-58.
  double sum = 1;
  for (int n = 14; n > 0; --n)
    sum = 1 + r * sum / n;
  return std::ldexp(sum, static_cast<int>(k));
}

double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact, in [1/2, 1)
  if (m < 0x1.6a09e667f3bcdp-1) {       // below the root of 1/2
    m *= 2;
    --exponent;
  }
  // ln m = 2 atanh s with s = (m - 1) / (m + 1), |s| < 0.172: the first term left out is below
  // 2^-58.
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int n = 21; n > 0; n -= 2)
    sum = sum * s * s + 1.0 / n;
  return exponent * kLn2High + (2 * s * sum + exponent * kLn2Low);
}

}  // namespace steptime
