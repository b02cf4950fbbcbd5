#include "netmodels/programs.h"
#include "tests/support/play.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Rounds of pairs, in which both ends start together and end together. `first` is what rank a
/// sends, `second` what it gets.
struct Clock {
  explicit Clock(Rank n) : end(static_cast<std::size_t>(n), 0) {}
  std::int64_t& operator[](Rank r) { return end[static_cast<std::size_t>(r)]; }
  void exchange(Rank a, Rank b, std::int64_t first, std::int64_t second, bool reduces) {
    const std::int64_t start = std::max((*this)[a], (*this)[b]);
    const std::int64_t there = start + message_ps(first);
    const std::int64_t here = start + message_ps(second);
    (*this)[a] = std::max(there, here + (reduces ? sum_ps(second) : 0));
    (*this)[b] = std::max(here, there + (reduces ? sum_ps(first) : 0));
  }
  void send(Rank from, Rank to, std::int64_t bytes, bool reduces) {
    const std::int64_t arrival = std::max((*this)[from], (*this)[to]) + message_ps(bytes);
    (*this)[from] = arrival;
    (*this)[to] = arrival + (reduces ? sum_ps(bytes) : 0);
  }
  std::vector<std::int64_t> end;
};

std::int64_t recurrence(Rank n, std::int64_t m, bool halves) {
  Clock clock(n);
  Rank core = 1;
  while (2 * core <= n)
    core *= 2;
  const Rank folded = n - core;
  const auto real = [&](Rank c) { return c < folded ? 2 * c + 1 : c + folded; };
  /// Bytes of `width` parts from `first` on, of `core` parts.
  const auto bytes = [&](Rank first, Rank width) {
    std::int64_t sum = 0;
    for (Rank p = first; p < first + width; ++p)
      sum += m / core + (p < m % core ? 1 : 0);
    return sum;
  };
  for (Rank f = 0; f < folded; ++f)
    clock.send(2 * f, 2 * f + 1, m, true);
  if (!halves) {
    for (Rank bit = 1; bit < core; bit *= 2) {
      for (Rank a = 0; a < core; ++a) {
        if ((a & bit) == 0) clock.exchange(real(a), real(a | bit), m, m, true);
      }
    }
  } else {
    for (Rank bit = core / 2; bit >= 1; bit /= 2) {  // a keeps the lower half of its block
      for (Rank a = 0; a < core; ++a) {
        if ((a & bit) != 0) continue;
        const Rank low = a / (2 * bit) * (2 * bit);
        clock.exchange(real(a), real(a | bit), bytes(low + bit, bit), bytes(low, bit), true);
      }
    }
    for (Rank bit = 1; bit < core; bit *= 2) {
      for (Rank a = 0; a < core; ++a) {
        if ((a & bit) != 0) continue;
        const Rank low = a / (2 * bit) * (2 * bit);
        clock.exchange(real(a), real(a | bit), bytes(low, bit), bytes(low + bit, bit), false);
      }
    }
  }
  for (Rank f = 0; f < folded; ++f)
    clock.send(2 * f + 1, 2 * f, m, false);
  return *std::max_element(clock.end.begin(), clock.end.end());
}

TEST(DoublingProgram, EqualsAPerRankRecurrence) {
  for (Rank n = 2; n <= 33; ++n) {
    for (const std::int64_t m : kSizes) {
      EXPECT_EQ(play(recursive_doubling(n, {0, m}), star_cluster(n, kGamma)),
                recurrence(n, m, false))
          << n << " ranks, " << m << " B";
      EXPECT_EQ(play(halving_doubling(n, {0, m}), star_cluster(n, kGamma)), recurrence(n, m, true))
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(DoublingProgram, CostsItsClosedFormAtPowersOfTwo) {
  std::int64_t rounds = 0;
  for (Rank n = 2; n <= 32; n *= 2) {
    ++rounds;
    for (const std::int64_t m : kSizes) {
      // log2 N (alpha + M (beta + gamma))
      EXPECT_EQ(play(recursive_doubling(n, {0, m}), star_cluster(n, kGamma)),
                rounds * (message_ps(m) + sum_ps(m)));
      if (m % n != 0) continue;
      // 2 log2 N alpha + (N - 1) / N M (2 beta + gamma)
      for (const bool nearest_first : {false, true}) {
        EXPECT_EQ(play(halving_doubling(n, {0, m}, nearest_first), star_cluster(n, kGamma)),
                  2 * rounds * kLatencyPs + (n - 1) * (m / n) * (2 * kPsPerByte + 1000));
      }
    }
  }
}

TEST(DoublingProgram, HalvesWithTheNearestFirst) {
  // As MPICH: rank 2 of 4 exchanges halves with rank 3 and keeps the first, of which it gives rank
  // 0 the first quarter; then it gets both back.
  const auto program = halving_doubling(4, {0, 100}, true);
  const auto send = [&](std::int32_t step) { return program->op(2, step).send; };
  EXPECT_EQ(send(0).first, 3);
  EXPECT_EQ(send(0).slice, (Slice{50, 50}));
  EXPECT_EQ(send(1).first, 0);
  EXPECT_EQ(send(1).slice, (Slice{0, 25}));
  EXPECT_EQ(send(2).first, 0);
  EXPECT_EQ(send(2).slice, (Slice{25, 25}));
  EXPECT_EQ(send(3).first, 3);
  EXPECT_EQ(send(3).slice, (Slice{0, 50}));
}

TEST(DoublingProgram, LeavesTheSumOnEveryRank) {
  for (Rank n = 1; n <= 33; ++n) {
    for (const std::int64_t m : {0, 1, 6, 97, 500 + 13 * n}) {
      EXPECT_TRUE(all_reduces(one(recursive_doubling(n, {0, m})), n, m, star_cluster(n, kGamma)))
          << n << ' ' << m;
      for (const bool nearest_first : {false, true}) {
        EXPECT_TRUE(all_reduces(one(halving_doubling(n, {0, m}, nearest_first)), n, m,
                                star_cluster(n, kGamma)))
            << n << ' ' << m << ' ' << nearest_first;
      }
    }
  }
}

}  // namespace
}  // namespace steptime
