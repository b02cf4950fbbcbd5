#include "tests/support/push_pulls.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(LocalMerge, CopiesToTheHostAddsUpAndCopiesBack) {
  // The node's switch has one port for the host, which both GPUs share. The copies are pushed at 47
  // and 49 and start 15 us later: until 64 the first one has 2 kB, and then half the port. Both
  // have 1 MB: the first ends at 62 + 2 + 2 * 998 = 2060, the second has 2 kB left and ends at
  // 2062, 1 us of latency more. The sum costs no time. Down both begin together: 15 + 2000 + 1.
  EXPECT_NEAR(us(push_pulls("local"), pair_of_gpus(), 1'000'000), 2063 + 2016, 1e-6);
  // The sum of two takes one reduction, of 0.3 ns for each byte.
  EXPECT_NEAR(us(push_pulls("local"), pair_of_gpus(0.3e-9), 1'000'000), 2063 + 300 + 2016, 1e-6);
}

}  // namespace
}  // namespace steptime
