#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr std::int64_t kChunk = 1000;
std::unique_ptr<Collective> tree_over(const Cluster& cluster) {
  return collective_of(R"({"type": "double-binary-tree", "chunk": "1 kB"})", cluster);
}

TEST(DoubleBinaryTree, ClosedForm) {
  // 8 ranks, 4000 B: k = 3, two chunks of 1000 B in each half.
  //   2 (3 + 2 - 2)(alpha + 2000 beta) + 2 (alpha + 1000 beta) + (2 (3 + 2 - 2) + 1) 1000 gamma
  EXPECT_EQ(tree_over(star_cluster(8, kGamma))->time({4000}).count(),
            6 * message_ps(2000) + 2 * message_ps(1000) + 7 * sum_ps(1000));
  // No bytes: up and down log2 N levels.
  EXPECT_EQ(tree_over(star_cluster(8))->startup().count(), 6 * kLatencyPs);
  EXPECT_EQ(tree_over(star_cluster(1))->time({4000}).count(), 0);
}

TEST(DoubleBinaryTree, MessagesEqualTheClosedFormAtPowersOfTwo) {
  for (Rank n = 2; n <= 64; n *= 2) {
    for (const TimePerByte gamma : {TimePerByte{}, kGamma}) {
      const Cluster cluster = star_cluster(n, gamma);
      const auto collective = tree_over(cluster);
      for (const std::int64_t chunks : {0, 1, 2, 3, 20}) {
        const Bytes m{2 * chunks * kChunk};
        EXPECT_EQ(MessageTimes(cluster, *collective).time(m), collective->time(m))
            << n << " ranks, " << chunks << " chunks";
      }
      // Chunks of 999 and 1000 B, and of 950 and 951 B: to a byte.
      for (const Bytes m : {Bytes{2 * 1999}, Bytes{2 * 19'007}}) {
        EXPECT_NEAR(static_cast<double>(MessageTimes(cluster, *collective).time(m).count()),
                    static_cast<double>(collective->time(m).count()),
                    static_cast<double>(kPsPerByte + sum_ps(1)))
            << n << " ranks, " << m.count << " B";
      }
    }
  }
}

TEST(DoubleBinaryTree, ForOtherNumbersItIsAnUpperBoundByAFewChunks) {
  for (Rank n = 3; n <= 33; ++n) {
    const Cluster cluster = star_cluster(n, kGamma);
    const auto collective = tree_over(cluster);
    for (const std::int64_t m : {0, 2000, 4000, 38'000}) {
      const std::int64_t played = MessageTimes(cluster, *collective).time({m}).count();
      const std::int64_t closed = collective->time({m}).count();
      EXPECT_LE(played, closed) << n << " ranks, " << m << " B";
      // Three ranks are a chain: no inner rank has two children, and every chunk takes less.
      const std::int64_t less = n == 3 ? m / 2 + kChunk : 2 * kChunk;
      EXPECT_GE(played, closed - 2 * less * kPsPerByte - sum_ps(less))
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(DoubleBinaryTree, TakesAsManyChunksAsAreFastest) {
  // 64 ranks, 10 MB for each tree: a chunk more costs 2 alpha and saves a part of
  // d = 2 (5 x 2 + 1) beta - 4 beta = 18 beta per byte. d 10 MB / 2 alpha = 1440 <= 38 x 39, so
  // that 38 chunks are best: 2 (6 + 38 - 2) (alpha + 2 s beta) + 2 (alpha + s beta), to a byte of
  // each.
  const auto tree =
      collective_of(R"({"type": "double-binary-tree", "chunk": "10 MB"})", star_cluster(64));
  const Bytes m{20'000'000};
  const double s = 1e7 / 38;
  EXPECT_NEAR(static_cast<double>(tree->time(m).count()),
              84 * (kLatencyPs + 2 * s * kPsPerByte) + 2 * (kLatencyPs + s * kPsPerByte),
              86 * 2 * kPsPerByte);
  EXPECT_NEAR(static_cast<double>(MessageTimes(star_cluster(64), *tree).time(m).count()),
              static_cast<double>(tree->time(m).count()), 2 * kPsPerByte);
}

TEST(DoubleBinaryTree, TakesAsManyChunksAsItsMessages) {
  for (const std::int64_t n : {2, 3, 5, 8, 25, 32}) {
    for (const auto latency : {Duration{}, Duration(kLatencyPs)}) {
      Cluster cluster = star_cluster(n);
      cluster.network.latency = latency;
      const auto tree = collective_of(R"({"type": "double-binary-tree"})", cluster);
      for (const std::int64_t m : {4'000, 300'000, 1'048'576, 1'048'578, 2'200'000, 100'000'000}) {
        const double played = to_seconds(MessageTimes(cluster, *tree).time({m}));
        const double off = to_seconds(tree->time({m})) / played - 1;
        const bool is_exact = tree->outside_domain({m}).empty();
        EXPECT_EQ(is_exact, n == 2 || n == 8 || n == 32);
        EXPECT_GE(off, is_exact ? -.001 : -.10) << n << " ranks, " << m << " B";
        EXPECT_LE(off, is_exact ? .001 : .06) << n << " ranks, " << m << " B";
      }
    }
  }
}

TEST(DoubleBinaryTree, NeverFallsWithSize) {
  // Chunks of 512 KiB, and of 1 kB, of which 2 MB in each half need more than are made for speed.
  for (const auto& [chunk, most] :
       {std::pair{"512 KiB", std::int64_t{200'000'000}}, {"1 kB", std::int64_t{4'000'000}}}) {
    for (const std::int64_t n : {2, 3, 8, 25}) {
      for (const auto latency : {Duration{}, Duration(1000), Duration(kLatencyPs)}) {
        Cluster cluster = star_cluster(n);
        cluster.network.latency = latency;
        const auto tree = collective_of(
            std::string(R"({"type": "double-binary-tree", "chunk": ")") + chunk + "\"}", cluster);
        Duration last{};
        for (std::int64_t m = 0; m < most; m += 1 + m / 200) {
          EXPECT_GE(tree->time({m}), last) << n << " ranks, " << m << " B";
          last = tree->time({m});
        }
      }
    }
  }
}

TEST(DoubleBinaryTree, IsNoSlowerOnFasterLinks) {
  // Without latency: from 1.1 to 2 Gb/s a step was once 16 times slower, as the chunks were few.
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 4;
  cluster.intra_node = {std::chrono::microseconds(20), {12.5e9}};
  cluster.network = {{}, {1.1e9 / 8}};
  Duration slower = tree_over(cluster)->time({100'000'000});
  for (double gbps = 1.2; gbps < 400; gbps *= 1.1) {
    cluster.network.bandwidth = {gbps * 1e9 / 8};
    const Duration faster = tree_over(cluster)->time({100'000'000});
    EXPECT_LE(faster, slower) << gbps << " Gb/s";
    slower = faster;
  }
}

TEST(DoubleBinaryTree, LeavesTheSumOnEveryRank) {
  for (Rank n = 1; n <= 33; ++n) {
    for (const char* rule : {"2.7.8", "2.8.4"}) {
      const auto collective = collective_of(
          std::string(R"({"type": "double-binary-tree", "chunk": "40 B", "second_tree": ")") +
              rule + "\"}",
          star_cluster(n));
      EXPECT_TRUE(all_reduces(collective->programs({301}), n, 301, star_cluster(n)));
    }
  }
}

}  // namespace
}  // namespace steptime
