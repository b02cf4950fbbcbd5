// Random numbers by counter: the n-th number of a stream is a function of (seed, stream, n), so
// that it does not depend on who asked first, on threads, or on the compiler. The distributions are
// this file's own, with operations only that every processor rounds alike.
#pragma once
#include <Random123/philox.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace steptime {

/// What a number is drawn for: each has a stream of its own.
enum class Purpose : std::uint32_t {
  kWorkerSpeed,
  kStepTime,
  kStraggler,
  kOrder,
  kWeights,
  kProblem,
  kPullOrder,
  kSegmentTime,
  kTest,
  kResample,
  kSweep,
  kFailure,
  kSlowLink,
  kSlowGpu
};

/// The numbers of one purpose, each with a place of two or three coordinates (rank, step, ...).
class RandomStream {
 public:
  constexpr RandomStream(std::int64_t seed, Purpose purpose)
      : seed_(static_cast<std::uint64_t>(seed)), purpose_(static_cast<std::uint32_t>(purpose)) {}

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform(std::uint32_t a, std::uint32_t b, std::uint32_t c = 0) const {
    const r123::Philox4x32::key_type key{
        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
    const auto drawn = r123::Philox4x32{}({{b, a, purpose_, c}}, key);
    const std::uint64_t word = static_cast<std::uint64_t>(drawn[1]) << 32 | drawn[0];
    return static_cast<double>(word >> 11) * 0x1p-53;
  }

  /// About standard normal: the sum of 12 uniforms less 6 (mean 0, variance 1, within +-6).
  double normal(std::uint32_t a, std::uint32_t b) const {
    double sum = -6;
    for (std::uint32_t i = 0; i < 12; ++i)
      sum += uniform(a, 12 * b + i);
    return sum;
  }

  /// Exponentially distributed with mean 1: -ln u with u uniform in (0, 1].
  double exponential(std::uint32_t a, std::uint32_t b = 0) const {
    // u = m 2^e with m in [1/2, 1); ln m = 2 (s + s^3 / 3 + ...) with s = (m - 1) / (m + 1), at
    // most 1/3 far from 0: 17 terms leave 2e-18.
    int e = 0;
    const double m = std::frexp(1 - uniform(a, b), &e);
    const double s = (m - 1) / (m + 1);
    double sum = 0;
    for (int k = 33; k >= 1; k -= 2)
      sum = sum * s * s + 1. / k;
    return -(2 * s * sum + e * 0x1.62e42fefa39efp-1);  // e ln 2
  }

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_;
};

/// Fisher and Yates, for the `round`-th time; the bound's bias is below 2^-32.
template <class T>
void shuffle(std::span<T> values, const RandomStream& stream, std::uint32_t index,
             std::uint32_t round) {
  const auto first = round * static_cast<std::uint32_t>(values.size());
  for (std::size_t i = values.size(); i > 1; --i) {
    const double drawn = stream.uniform(index, first + static_cast<std::uint32_t>(i - 1));
    std::swap(values[i - 1], values[static_cast<std::size_t>(drawn * static_cast<double>(i))]);
  }
}

}  // namespace steptime
