#include "sim/collective/message_time.h"
#include "sim/core/error.h"
#include "sim/experiment/simulate.h"
#include "tests/support/collectives.h"
#include "tests/support/config_text.h"
#include "tests/support/play.h"
#include "tests/support/training.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kHost = R"({"type": "host", "copy": "1 GB/s", "reduction": "0.5 ns/B"})";

std::shared_ptr<const Collective> on_host(const std::string& collective, const Cluster& cluster) {
  const auto host = make<Backend>(kHost);
  return host->all_reduce(collective_of(collective, host->seen(cluster)), cluster);
}

TEST(Host, CopiesBeforeAndAfter) {
  // The GPUs' own gamma, 1 ns/B, counts no more.
  const Cluster cluster = star_cluster(4, {1e-9});
  Cluster host_sums = cluster;
  host_sums.reduction = {0.5e-9};
  for (const char* name : {"ring", "recursive-doubling", "double-binary-tree"}) {
    const std::string type = std::string(R"({"type": ")") + name + "\"}";
    const auto made = on_host(type, cluster);
    const auto plain = collective_of(type, host_sums);
    for (const std::int64_t m : {0, 1'000'000, 64'000'000}) {
      const Duration copies = 2 * from_seconds(static_cast<double>(m) * 1e-9);
      EXPECT_EQ(made->time({m}), plain->time({m}) + copies) << name;
    }
    EXPECT_EQ(made->startup(), plain->startup());
  }
  const auto line = on_host(R"({"type": "ring"})", cluster)->linear();
  ASSERT_TRUE(line);
  // 2 x 3/4 of the wire's 0.8 ns/B and 3/4 of 0.5 ns/B, and 2 ns/B of copies.
  const double wire = 1 / cluster.network.bandwidth.bytes_per_second;
  EXPECT_NEAR(line->b.seconds_per_byte, 1.5 * wire + 0.375e-9 + 2e-9, 1e-21);
}

// Two nodes of two ranks: each copies at 0.5 GB/s and adds at 1 ns/B. Where each rank has a memory
// of its own, as with one rank a node.
TEST(Host, RanksOfANodeShareItsMemory) {
  Cluster cluster = star_cluster(4);
  cluster.nodes = 2;
  cluster.gpus_per_node = 2;
  const auto seen = [&](const std::string& more) {
    const auto host =
        make<Backend>(R"({"type": "host", "copy": "1 GB/s", "reduction": "0.5 ns/B")" + more + "}");
    EXPECT_EQ(
        host->all_reduce(collective_of(R"({"type": "linear", "a": "0 s", "b": "1 ns/B"})", cluster),
                         cluster)
            ->time({1'000'000}),
        from_seconds(more.empty() ? 5e-3 : 3e-3))
        << more;
    return host->seen(cluster).reduction.seconds_per_byte;
  };
  EXPECT_DOUBLE_EQ(seen(""), 1e-9);
  EXPECT_DOUBLE_EQ(seen(R"(, "memories": 2)"), 0.5e-9);
  EXPECT_DOUBLE_EQ(seen(R"(, "memories": 4)"), 0.5e-9);
}

TEST(Host, MessagesTakeAsLong) {
  const Cluster cluster = star_cluster(4, {1e-9});
  for (const char* name : {"ring", "recursive-doubling"}) {
    const auto made = on_host(std::string(R"({"type": ")") + name + "\"}", cluster);
    for (const std::int64_t m : {0, 64 << 10, 64 << 20}) {
      EXPECT_EQ(MessageTimes(cluster, *made).time({m}), made->time({m})) << name << ' ' << m;
    }
  }
}

TEST(Host, OfTwoTreesTheFirstBeginsWhenItsHalfIsCopied) {
  const Cluster cluster = star_cluster(4, {1e-9});
  const auto made = on_host(R"({"type": "double-binary-tree"})", cluster);
  const Bytes m{64 << 20};
  const double closed = to_seconds(made->time(m));
  const double played = to_seconds(MessageTimes(cluster, *made).time(m));
  EXPECT_LT(played, closed);
  EXPECT_LE(closed, played * (1 + made->error_bound()->most));
  EXPECT_EQ(made->error_bound()->most, 1);
  EXPECT_NE(made->outside_domain(m), "");
}

TEST(Host, CopiesAreStagesOfTheirOwn) {
  const Bytes m{64'000'000};
  const auto made = on_host(R"({"type": "ring"})", star_cluster(4));
  const auto stages = made->stages(m);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_TRUE(stages.front().copies);
  EXPECT_TRUE(stages.back().copies);
  Duration sum{};
  for (const Stage& stage : stages)
    sum += stage.startup + stage.work;
  EXPECT_EQ(sum, made->time(m));
}

TEST(Host, NeedsSomethingToAddUp) {
  const std::string transport = std::string(R"({"type": "mpi", "backend": )") + kHost + "}";
  try {
    training_experiment(R"({"aggregation": {"type": "parameter-server", "servers": 1},
                            "transport": )" +
                            transport + "}",
                        4);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "x.json: /strategy/transport: its backend makes all-reduces, and each worker is a "
              "client by itself; expected {\"type\": \"device\"} under \"backend\", or clients of "
              "several workers");
  }
  // Nothing to copy for one worker.
  const Experiment one = training_experiment(R"({"transport": )" + transport + "}", 1);
  EXPECT_EQ(simulate(one).step_time_s, 3.0);
}

}  // namespace
}  // namespace steptime
