#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"
#include "tests/support/presets.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string tensor(const std::string& design, const std::string& more = "") {
  return R"({"type": "tensor", "design": ")" + design + "\"" + more + "}";
}

/// A part of 840,000 B takes the star's ports 722 us; at 30 GB/s its sum takes 28 us, at 28 GB/s
/// its broadcast 30 us.
constexpr std::int64_t kPart = 840'000;
constexpr std::int64_t kSend = kLatencyPs + kPart * kPsPerByte;
constexpr std::int64_t kUs = 1'000'000;

std::int64_t time(const std::string& json, Rank sockets, std::int64_t bytes) {
  return collective_of(json, star_cluster(sockets))->time({bytes}).count();
}

TEST(Tensor, RingsTakeTurnsWhileTheOtherOnesPartIsAddedUp) {
  for (const Rank p : {2, 3, 4, 7}) {
    for (const std::int64_t rings : {2, 3}) {
      // The first sum and the last are all that is not under way beside a message; each ring's last
      // part is broadcast when all have been sent.
      const auto json = tensor("ring-IBMGpu", R"(, "rings": )" + std::to_string(rings));
      EXPECT_EQ(time(json, p, p * rings * kPart),
                2 * rings * (p - 1) * kSend + 2 * 28 * kUs + rings * 30 * kUs)
          << p << " sockets, " << rings << " rings";
    }
  }
}

TEST(Tensor, SumsThatAreSlowerThanMessagesSetThePace) {
  // 2 GB/s: 420 us; the same as 722 us hides. 1 GB/s: 840 us: two rings over 4 sockets
  // add up two parts of their own and six that they received, without a break.
  EXPECT_EQ(time(tensor("ring-IBMGpu", R"(, "ibmgpu_sum": "2 GB/s")"), 4, 8 * kPart),
            12 * kSend + 2 * 420 * kUs + 2 * 30 * kUs);
  EXPECT_EQ(time(tensor("ring-IBMGpu", R"(, "ibmgpu_sum": "1 GB/s")"), 4, 8 * kPart),
            8 * 840 * kUs + 6 * kSend + 2 * 30 * kUs);
}

TEST(Tensor, NcclBlocksWhileItAddsUp) {
  // At 12 GB/s a part takes 70 us, in each of the 3 steps of 4 sockets and once before.
  EXPECT_EQ(time(tensor("ring-NCCL"), 4, 4 * kPart), 6 * kSend + 4 * 70 * kUs + 30 * kUs);
}

TEST(Tensor, OmpRingAddsUpAllBeforeAndBroadcastsAllAfterwards) {
  // The host at 12 GB/s: 70 us a part.
  EXPECT_EQ(time(tensor("omp_ring-IBMGpu", R"(, "host_sum": "12 GB/s")"), 4, 4 * kPart),
            4 * 28 * kUs + 6 * kSend + 3 * 70 * kUs + 4 * 30 * kUs);
}

TEST(Tensor, BaidusRingCopiesToTheHostAndBackInEachStep) {
  // Twice 30 us of copies; sums at 12 GB/s.
  EXPECT_EQ(time(tensor("baidu", R"(, "gpu_sum": "12 GB/s")"), 4, 4 * kPart),
            6 * (60 * kUs + kSend) + 3 * 70 * kUs);
}

TEST(Tensor, RegPipelinesItsThreeStages) {
  // Four sockets, ring: 300 us + 1.2 ns/B for each segment, which is the longest stage. M = 84 MB
  // in K: K (300 us + 1.2 ns/B M / K) + M / K (1/30 + 1/28) ns/B, least for K^2 = 5800 us / 300 us.
  const auto reg = collective_of(tensor("reg-IBMGpu"), star_cluster(4));
  const auto in = [](std::int64_t k) {
    const std::int64_t part = 84'000'000 / k;
    return k * (6 * kLatencyPs + 6 * part / 4 * kPsPerByte) + part / kPart * 58 * kUs;
  };
  EXPECT_EQ(reg->time({84'000'000}).count(), in(4));
  EXPECT_LT(in(4), in(2));
  EXPECT_LT(in(4), in(5));
  EXPECT_EQ(reg->startup().count(), 6 * kLatencyPs);
  EXPECT_NE(reg->time({84'000'000}),
            collective_of(tensor("reg-IBMGpu", R"(, "mpi": "recursive-doubling")"), star_cluster(4))
                ->time({84'000'000}));
  EXPECT_EQ(message_of<PlacedError>([&] { MessageTimes(star_cluster(4), *reg); }),
            "/run/fidelity: \"message\" needs a collective that is made of messages, such as ring; "
            "this one is "
            "known by its time only");
}

TEST(Tensor, SumsEveryContributionOnce) {
  for (const char* design : {"ring-IBMGpu", "ring-NCCL", "omp_ring-IBMGpu", "baidu"}) {
    for (const Rank n : {1, 2, 3, 8}) {
      for (const char* rings : {"1", "2", "5"}) {
        const Cluster cluster = star_cluster(n, kGamma);
        const auto all =
            collective_of(tensor(design, std::string(R"(, "rings": )") + rings), cluster);
        for (const std::int64_t bytes : {0, 3, 1000}) {
          EXPECT_TRUE(all_reduces(all->programs({bytes}), n, bytes, cluster))
              << design << ' ' << n << ' ' << rings << ' ' << bytes;
        }
      }
    }
  }
}

TEST(Tensor, OnMinskyRingIbmGpuIsFastestAndTheOthersAsMuchSlowerAsDerived) {
  // Per byte, B = 12 GB/s between nodes: 2 / B; 2 / B + 1 / 12 with NCCL; 2 / B + 1 / 30 + 1 / 28 +
  // 1 / 12.8 on the host. 31 of 32 parts and what is not hidden of the last one: 2 %.
  const Cluster minsky = preset_cluster("minsky-sockets", 16, 2);
  const auto seconds = [&](const char* design) {
    return to_seconds(collective_of(tensor(design), minsky)->time({4'000'000'000}));
  };
  EXPECT_NEAR(seconds("ring-IBMGpu"), 4 * 2 / 12.0, .02 * 4 * 2 / 12.0);
  EXPECT_NEAR(seconds("ring-NCCL") / seconds("ring-IBMGpu"), 1.5, .03);
  EXPECT_NEAR(seconds("omp_ring-IBMGpu") / seconds("ring-IBMGpu"), 1.88, .04);
  // Baidu's, over twice as many GPUs: 2 (1 / 12 + 2 / 28) + 1 / 244 for 2 / 12.
  const double baidu = to_seconds(
      collective_of(tensor("baidu"), preset_cluster("minsky", 16, 4))->time({4'000'000'000}));
  EXPECT_NEAR(baidu / seconds("ring-IBMGpu"), 1.88, .04);
}

TEST(Tensor, ItsTimeIsThatOfItsMessages) {
  const Cluster minsky = preset_cluster("minsky-sockets", 3, 2);
  for (const char* design : {"ring-IBMGpu", "ring-NCCL", "omp_ring-IBMGpu"}) {
    const auto all = collective_of(tensor(design), minsky);
    MessageTimes played(minsky, *all);
    for (const std::int64_t bytes : kSizes)
      EXPECT_EQ(played.time({bytes}), all->time({bytes})) << design << ' ' << bytes;
  }
}

}  // namespace
}  // namespace steptime
