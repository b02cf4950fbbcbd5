#include "netmodels/programs.h"
#include "tests/support/play.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Ranks fold onto their partners 1, 2, 4, ... below: parent p takes child p + 2^k in when both are
/// done with all lower rounds. The broadcast undoes it from the top.
std::int64_t recurrence(Rank n, std::int64_t m) {
  std::vector<std::int64_t> end(static_cast<std::size_t>(n), 0);
  Rank top = 1;
  for (Rank bit = 1; bit < n; bit *= 2) {
    top = bit;
    for (Rank p = 0; p + bit < n; p += 2 * bit) {
      auto& parent = end[static_cast<std::size_t>(p)];
      auto& child = end[static_cast<std::size_t>(p + bit)];
      child = std::max(parent, child) + message_ps(m);
      parent = child + sum_ps(m);
    }
  }
  for (Rank bit = top; bit > 0; bit /= 2) {
    for (Rank p = 0; p + bit < n; p += 2 * bit) {
      auto& parent = end[static_cast<std::size_t>(p)];
      auto& child = end[static_cast<std::size_t>(p + bit)];
      parent = child = std::max(parent, child) + message_ps(m);
    }
  }
  return *std::max_element(end.begin(), end.end());
}

TEST(BinomialProgram, WithoutContentionCostsItsClosedForm) {
  // 2 log2 N (alpha + M beta) + log2 N M gamma, with the logarithm rounded up for any N: the root
  // has that many children, one after the other.
  for (Rank n = 2; n <= 33; ++n) {
    std::int64_t rounds = 0;
    while ((1 << rounds) < n)
      ++rounds;
    for (const std::int64_t m : kSizes) {
      EXPECT_EQ(play(binomial_all_reduce(n, {0, m}), star_cluster(n, kGamma)),
                2 * rounds * message_ps(m) + rounds * sum_ps(m))
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(BinomialProgram, EqualsAPerRankRecurrence) {
  for (Rank n = 2; n <= 33; ++n) {
    for (const std::int64_t m : kSizes)
      EXPECT_EQ(play(binomial_all_reduce(n, {0, m}), star_cluster(n, kGamma)), recurrence(n, m))
          << n << " ranks, " << m << " B";
  }
}

TEST(BinomialProgram, CarriesTheData) {
  for (Rank n = 1; n <= 33; ++n) {
    for (const std::int64_t m : {0, 1, 10, 333}) {
      const auto start = random_data(n, m);
      const auto sum = sum_of(start);
      const auto reduced = carry(one(binomial_reduce(n, {0, m})), star_cluster(n), start);
      ASSERT_FALSE(reduced.empty());
      EXPECT_EQ(reduced.front(), sum);
      const auto spread = carry(one(binomial_broadcast(n, {0, m})), star_cluster(n), start);
      ASSERT_FALSE(spread.empty());
      for (const auto& values : spread)
        EXPECT_EQ(values, start.front());
      EXPECT_TRUE(all_reduces(one(binomial_all_reduce(n, {0, m})), n, m, star_cluster(n)));
    }
  }
}

}  // namespace
}  // namespace steptime
