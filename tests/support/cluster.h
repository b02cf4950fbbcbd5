// A cluster whose closed forms can be worked out by head.
#pragma once
#include "sim/collective/collective.h"
#include "sim/network/cluster.h"
#include "tests/support/config_text.h"

#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

namespace steptime {

/// `n` nodes with one GPU each; alpha = 10 us, beta = 1 ns/B, gamma = 0.5 ns/B.
inline Cluster flat_cluster(std::int64_t n) {
  const Link link{Duration(10'000'000), Bandwidth{1e9}};
  return {.nodes = n, .network = link, .intra_node = link, .reduction = {0.5e-9}};
}

/// The collective costs a + b M on flat_cluster(n), for sizes from nothing to 1 GB; a in s, b in
/// s/B. Tolerance: each cost is rounded once to a picosecond, and b is a double, 1e-15 of up to
/// 25 s.
inline void expect_line(std::string_view collective, std::int64_t n, double a, double b) {
  const auto made = make<Collective>(collective, flat_cluster(n));
  EXPECT_EQ(made->startup(), from_seconds(a)) << n;
  ASSERT_TRUE(made->linear().has_value());
  EXPECT_EQ(made->linear()->a, from_seconds(a)) << n;
  EXPECT_DOUBLE_EQ(made->linear()->b.seconds_per_byte, b) << n;
  for (const std::int64_t m : {0LL, 1LL, 1'000LL, 1'000'000LL, 1'000'000'000LL}) {
    EXPECT_NEAR(to_seconds(made->time(Bytes{m})), a + b * static_cast<double>(m), 1e-12 + 2e-14)
        << n << " workers, " << m << " B";
  }
}

}  // namespace steptime
