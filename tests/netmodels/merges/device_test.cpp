#include "tests/support/presets.h"
#include "tests/support/push_pulls.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(DeviceMerge, CopiesAddsUpAndCopiesBack) {
  // The copy 1 -> 0 is pushed at 49 and ends at 49 + 15 + 1001 = 1065, the sum at 1080. The pull's
  // second copy begins then: 1080 + 15 + 1001.
  EXPECT_NEAR(us(push_pulls("device"), pair_of_gpus(), 1'000'000), 2096, 1e-6);
  // 0.3 ns/B for three accesses: the sum of two reads and writes for 300 us.
  EXPECT_NEAR(us(push_pulls("device"), pair_of_gpus(0.3e-9), 1'000'000), 2096 + 300, 1e-6);
}

TEST(DeviceMerge, KeysAreMergedOnOneGpuAfterTheOther) {
  // The copy of key 1 from GPU 0 to 1 is pushed at 147 and would arrive at 1163. At 1095, after its
  // copy to itself, GPU 0's other copy thread takes the pull of key 0, which shares the link from
  // 1110 on: 52 us more, until 1215. The sum ends at 1230, and the pull takes 15 + 1001.
  EXPECT_NEAR(us(push_pulls("device", R"(, "keys": 2)"), pair_of_gpus(), 2'000'000), 2246, 1e-6);
}

TEST(DeviceMerge, AKeyMayBeSharedOut) {
  // Half a key on each of the GPUs: both directions at once. The copy 1 -> 0 of the first half is
  // pushed at 49 and ends at 565, its sum at 580, GPU 0's copy of it to itself at 595. That of the
  // second half writes the same array, and comes then: 15 + 501.
  EXPECT_NEAR(us(push_pulls("device", R"(, "sharding": {"type": "mxnet", "bound": 2})"),
                 pair_of_gpus(), 1'000'000),
              595 + 516, 1e-6);
}

TEST(DeviceMerge, OneKeyOnAP3WaitsForTheSocketsLink) {
  // Three of four GPUs of the other socket have no NVLink to GPU 0, which adds up: 3 M in and 3 M
  // out over 10 GB/s, between them the sum of eight, 23 accesses of GPU 0's memory. Its two copy
  // threads take GPU 0's own copy, 2 accesses, and that to 1, then 2, 4, 7, 6, 3 and 5 from their
  // heap: the way out over the sockets' link begins with 7, when the copy to 2 is over, which has
  // one NVLink. From then on it is never idle: when 7 has all, 6 lacks what 7 got before it began,
  // which takes less than 4 and 3 over two NVLinks. That is VGG-16's largest key.
  const double bytes = 411'041'792;
  const double seconds = 6 * bytes / 10e9 + (23 + 2) * bytes * 0.00333e-9 / 3 + bytes / 23.94e9;
  EXPECT_NEAR(us(push_pulls("device"), preset_cluster("p3.16xlarge"), 411'041'792), seconds * 1e6,
              seconds * 1e6 * 0.005);
}

}  // namespace
}  // namespace steptime
