// The multiprocessors that a collective's blocks keep from kernels.
#include "sim/workload/overlap.h"
#include "tests/support/collectives.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"
#include "tests/support/play.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const LinearCollective kLine = line({}, Duration(1));

TEST(OverlapMultiprocessors, AreThoseLeft) {
  // 80 / (80 - 16)
  const auto overlap = make<Overlap>(R"({"type": "multiprocessors", "blocks": 16})");
  EXPECT_EQ(overlap->beside({kLine, kLine}, Bytes{1}, 80), (Slowdown{.compute = 1.25}));
  EXPECT_EQ(overlap->beside({kLine, kLine}, Bytes{1}, {}), Slowdown{});
}

TEST(OverlapMultiprocessors, AreTheConfigsBeforeTheDevices) {
  // 40 / (40 - 10)
  const auto overlap =
      make<Overlap>(R"({"type": "multiprocessors", "blocks": 10, "multiprocessors": 40})");
  EXPECT_DOUBLE_EQ(overlap->beside({kLine, kLine}, Bytes{1}, 80).compute, 4.0 / 3);
}

TEST(OverlapMultiprocessors, LeaveOneToTheKernels) {
  const auto overlap = make<Overlap>(R"({"type": "multiprocessors", "blocks": 99})");
  EXPECT_EQ(overlap->beside({kLine, kLine}, Bytes{1}, 13).compute, 13);
}

TEST(OverlapMultiprocessors, AreLeftAloneByWhatSaysNoBlocks) {
  EXPECT_EQ(make<Overlap>(R"("multiprocessors")")->beside({kLine, kLine}, Bytes{1}, 80),
            Slowdown{});
}

TEST(OverlapMultiprocessors, SlowDownWhatKernelsSlowDown) {
  // 10 ns + 1 ps/B and 10 ns + 3 ps/B, of 10 kB: 20 and 40 ns.
  const LinearCollective alone = line(Duration(10'000), Duration(1));
  const LinearCollective beside_kernels = line(Duration(10'000), Duration(3));
  EXPECT_EQ(make<Overlap>(R"({"type": "multiprocessors", "blocks": 16})")
                ->beside({alone, beside_kernels}, Bytes{10'000}, 80),
            (Slowdown{.compute = 1.25, .collective = 2}));
}

TEST(OverlapMultiprocessors, CountTheChannelsOfNccl) {
  const Cluster cluster = star_cluster(2);
  const auto nccl =
      collective_of(R"({"type": "nccl", "channels": 4, "channel_bandwidth": "1 GB/s"})", cluster);
  const std::int64_t blocks = nccl->thread_blocks(Bytes{100'000'000});
  EXPECT_TRUE(nccl->choice(Bytes{100'000'000}).ends_with(" x" + std::to_string(blocks)));
  EXPECT_GT(blocks, 0);
  EXPECT_DOUBLE_EQ(
      make<Overlap>(R"("multiprocessors")")->beside({*nccl, *nccl}, Bytes{100'000'000}, 80).compute,
      80.0 / static_cast<double>(80 - blocks));
}

}  // namespace
}  // namespace steptime
