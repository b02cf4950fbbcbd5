// Every collective that is made of messages, found by its name: without other traffic its messages
// take the time of its closed form, and whoever should holds the sum at the end.
#include "netmodels/programs.h"
#include "sim/collective/collective.h"
#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// By name, with defaults; those that need parameters, or are no messages, are left out.
std::vector<std::string> made_of_messages(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : Collectives::instance().items()) {
    try {
      if (!collective_of("{\"type\": \"" + name + "\"}", cluster)->programs({1}).empty())
        names.push_back(name);
    } catch (const InputError&) {  // needs parameters, or more than a plain cluster
    }
  }
  return names;
}

std::unique_ptr<Collective> named(const std::string& name, const Cluster& cluster) {
  return collective_of("{\"type\": \"" + name + "\"}", cluster);
}

/// Double binary trees have as many chunks as are fastest, some of which are a byte longer.
double cut_ps(const std::string& name) {
  return name == "double-binary-tree" ? static_cast<double>(2 * (2 * kPsPerByte + sum_ps(1))) : 0;
}

TEST(ClosedForm, EqualsTheMessagesOfEveryCollective) {
  // Powers of two; sizes that cut evenly into 32 parts for each of two rings. 800 ps and
  // 1000 ps per byte are whole numbers, so that nothing is rounded. With gamma, rings that run side
  // by side overlap (tests/netmodels/multi_ring_test.cpp).
  int checked = 0;
  for (const std::int64_t n : {4, 8, 16, 32}) {
    for (const TimePerByte gamma : {TimePerByte{}, kGamma}) {
      const Cluster cluster = star_cluster(n, gamma);
      for (const std::string& name : made_of_messages(cluster)) {
        if (name == "multi-ring" && gamma.seconds_per_byte > 0) continue;
        const auto collective = named(name, cluster);
        for (const std::int64_t m : {0, 64, 64 * 3125, 64 << 20}) {
          EXPECT_NEAR(static_cast<double>(MessageTimes(cluster, *collective).time({m}).count()),
                      static_cast<double>(collective->time({m}).count()), cut_ps(name))
              << name << ", " << n << " ranks, " << m << " B, gamma " << gamma.seconds_per_byte;
          ++checked;
        }
      }
    }
  }
  // ring, multi-ring, binary-tree, double-binary-tree, recursive-doubling, halving-doubling,
  // reduce, broadcast, reduce-scatter, all-gather, hierarchical
  EXPECT_GE(checked, 4 * 4 * (10 + 11));
}

TEST(ClosedForm, EqualsTheMessagesInsideANodeAndAcrossNodes) {
  for (const TimePerByte gamma : {TimePerByte{}, kGamma}) {
    for (const auto& [nodes, gpus] : {std::pair{1, 8}, std::pair{2, 4}, std::pair{8, 2}}) {
      Cluster cluster = star_cluster(nodes, gamma);
      cluster.gpus_per_node = gpus;
      cluster.intra_node = {std::chrono::microseconds(2), {1e10}};  // 100 ps per byte
      std::vector<std::string> names{"hierarchical", "ring", "reduce-scatter", "all-gather"};
      if (nodes == 1) names = made_of_messages(cluster);
      for (const std::string& name : names) {
        if (name == "multi-ring" && gamma.seconds_per_byte > 0) continue;
        const auto collective = named(name, cluster);
        for (const std::int64_t m : {0, 64, 64 * 3125, 64 << 20}) {
          EXPECT_NEAR(static_cast<double>(MessageTimes(cluster, *collective).time({m}).count()),
                      static_cast<double>(collective->time({m}).count()), cut_ps(name))
              << name << ", " << nodes << " x " << gpus << ", " << m << " B";
        }
      }
    }
  }
}

TEST(ClosedForm, OfAnyNumberOfRanksIsTheSumOfItsRounds) {
  // Half a ring takes N - 1 steps of ceil(M / N) bytes, half a binary tree log2 N, rounded up, of
  // M.
  for (std::int64_t n = 2; n <= 33; ++n) {
    const Cluster cluster = star_cluster(n, kGamma);
    std::int64_t rounds = 0;
    while ((1 << rounds) < n)
      ++rounds;
    for (const std::int64_t m : kSizes) {
      const std::int64_t part = (m + n - 1) / n;
      const auto played = [&](const char* name) {
        return played_time(named(name, cluster)->programs({m}), Machine(cluster), kGamma, {})
            .count();
      };
      EXPECT_EQ(played("reduce-scatter"), (n - 1) * (message_ps(part) + sum_ps(part))) << n;
      EXPECT_EQ(played("all-gather"), (n - 1) * message_ps(part)) << n;
      EXPECT_EQ(played("reduce"), rounds * (message_ps(m) + sum_ps(m))) << n;
      EXPECT_EQ(played("broadcast"), rounds * message_ps(m)) << n;
    }
  }
}

/// `nodes` of `gpus`, whose own links are a fifth of the network's time, or more than it.
Cluster shared_cluster(std::int64_t nodes, std::int64_t gpus, bool fast_inside,
                       TimePerByte gamma = {}) {
  Cluster cluster = star_cluster(nodes, gamma);
  cluster.gpus_per_node = gpus;
  cluster.intra_node = {std::chrono::microseconds(fast_inside ? 2 : 100),
                        {fast_inside ? 1e10 : 5e8}};
  return cluster;
}

/// What the pages of the collectives say: T over the time of the messages, less 1, where T is an
/// estimate.
struct Bound {
  double least = 0;
  double most = 0;
};
Bound bound_of(const std::string& name) {
  static const std::map<std::string, Bound> bounds{
      {"binary-tree", {-.001, .001}},      {"reduce", {-.001, .001}},
      {"broadcast", {-.001, .001}},        {"halving-doubling", {-.01, .15}},
      {"recursive-doubling", {-.02, .21}}, {"multi-ring", {-.02, .34}},
      {"double-binary-tree", {-.06, .33}}};
  const auto bound = bounds.find(name);
  return bound == bounds.end() ? Bound{} : bound->second;
}

/// Exact to the byte that a cut part is longer, or within the bound that the page states.
void expect_as_messages(const std::string& name, const Cluster& cluster, std::int64_t m) {
  const auto collective = named(name, cluster);
  const double closed = to_seconds(collective->time({m}));
  const double played = to_seconds(MessageTimes(cluster, *collective).time({m}));
  const auto n = static_cast<double>(cluster.workers());
  const auto what = [&] {
    return name + ", " + std::to_string(cluster.nodes) + " x " +
           std::to_string(cluster.gpus_per_node) + ", " + std::to_string(m) + " B";
  };
  if (collective->outside_domain({m}).empty()) {
    const double byte = 1 / std::min(cluster.intra_node.bandwidth.bytes_per_second,
                                     cluster.network.bandwidth.bytes_per_second) +
                        cluster.reduction.seconds_per_byte;
    EXPECT_NEAR(closed, played, 4 * n * byte) << what();
  } else {
    EXPECT_GE(closed, played * (1 + bound_of(name).least)) << what();
    EXPECT_LE(closed, played * (1 + bound_of(name).most)) << what();
  }
}

TEST(ClosedForm, SharesNicsAsMessagesDo) {
  int exact = 0;
  for (const auto& [nodes, gpus] :
       {std::pair{2, 8}, {4, 4}, {8, 2}, {3, 8}, {3, 4}, {4, 3}, {2, 7}}) {
    for (const bool fast_inside : {true, false}) {
      for (const TimePerByte gamma : {TimePerByte{}, kGamma}) {
        const Cluster cluster = shared_cluster(nodes, gpus, fast_inside, gamma);
        for (const std::string& name : made_of_messages(cluster)) {
          for (const std::int64_t m : {0, 64 * 315 * 30, 64 << 20}) {
            expect_as_messages(name, cluster, m);
            exact += named(name, cluster)->outside_domain({m}).empty() ? 1 : 0;
          }
        }
      }
    }
  }
  // On each of the three clusters of 2^j nodes of 2^i GPUs: all but multi-ring and
  // double-binary-tree.
  EXPECT_GE(exact, 3 * 4 * 3 * 10);
}

/// A node of `gpus` GPUs, half of them on each of two switches with a NIC; the switches are joined.
///
///   gpu0 gpu1   gpu2 gpu3
///      \ /         \ /
///      plx0 ------ plx1
///       |           |
///      nic0        nic1
std::shared_ptr<const Topology> node_of_two_nics(int gpus) {
  auto node = std::make_shared<Topology>();
  const auto latency = std::chrono::microseconds(1);
  const auto plx0 = node->add_vertex("plx0", VertexKind::kPcieSwitch);
  const auto plx1 = node->add_vertex("plx1", VertexKind::kPcieSwitch);
  node->add_link({plx0, plx1, latency, {8e9}, 1, ""});
  for (int i = 0; i < gpus; ++i) {
    const auto gpu = node->add_vertex("gpu" + std::to_string(i), VertexKind::kGpu);
    node->add_link({gpu, i < gpus / 2 ? plx0 : plx1, latency, {8e9}, 1, ""});
  }
  node->add_link({node->add_vertex("nic0", VertexKind::kNic), plx0, latency, {8e9}, 1, ""});
  node->add_link({node->add_vertex("nic1", VertexKind::kNic), plx1, latency, {8e9}, 1, ""});
  return node;
}

TEST(ClosedForm, SpreadsOverSeveralNics) {
  for (const auto& [nodes, gpus] : {std::pair{2, 4}, {4, 8}, {8, 2}, {3, 4}, {1, 8}}) {
    Cluster cluster = shared_cluster(nodes, gpus, true);
    cluster.node = node_of_two_nics(gpus);
    for (const std::string& name : made_of_messages(cluster)) {
      for (const std::int64_t m : {0, 64 * 315, 64 << 20})
        expect_as_messages(name, cluster, m);
    }
  }
  Cluster cluster = shared_cluster(4, 8, true);
  cluster.node = node_of_two_nics(8);
  EXPECT_EQ(named("halving-doubling", cluster)->outside_domain({1}), "");
}

TEST(ClosedForm, OfManyRanksOutOfStepIsTheSumOfTheirRounds) {
  // 96 x 8, 100 x 6, 171 x 3: -4 to +9 %.
  for (const auto& [nodes, gpus] : {std::pair{96, 8}, {100, 6}, {171, 3}}) {
    const Cluster cluster = shared_cluster(nodes, gpus, true);
    for (const char* name : {"halving-doubling", "recursive-doubling", "binary-tree"}) {
      const auto collective = named(name, cluster);
      const double played = to_seconds(MessageTimes(cluster, *collective).time({1 << 20}));
      EXPECT_NEAR(to_seconds(collective->time({1 << 20})) / played, 1.025, .065) << name << nodes;
    }
  }
}

TEST(ClosedForm, OfTreesTakesAsManyChunksAsTheMessages) {
  for (const std::int64_t n : {2, 3, 5, 8, 25, 32}) {
    for (const auto latency : {Duration{}, Duration(kLatencyPs)}) {
      Cluster cluster = star_cluster(n);
      cluster.network.latency = latency;
      const auto tree = named("double-binary-tree", cluster);
      for (const std::int64_t m : {4'000, 300'000, 1'048'576, 1'048'578, 2'200'000, 100'000'000}) {
        const double played = to_seconds(MessageTimes(cluster, *tree).time({m}));
        const double off = to_seconds(tree->time({m})) / played - 1;
        const bool is_exact = tree->outside_domain({m}).empty();
        EXPECT_EQ(is_exact, n == 2 || n == 8 || n == 32);
        EXPECT_GE(off, is_exact ? -.001 : -.10) << n << " ranks, " << m << " B";
        EXPECT_LE(off, is_exact ? .001 : .06) << n << " ranks, " << m << " B";
      }
      Duration last{};
      for (std::int64_t m = 0; m < 200'000'000; m += 1 + m / 200) {
        EXPECT_GE(tree->time({m}), last) << n << " ranks, " << m << " B";
        last = tree->time({m});
      }
    }
  }
}

TEST(ClosedForm, IsOffByTheCutOfOddSizesOnly) {
  // A message of a part has whole bytes: one more at most, in each of at most 2 N steps.
  for (const std::int64_t n : {4, 8, 32}) {
    const Cluster cluster = star_cluster(n);
    for (const std::string& name : made_of_messages(cluster)) {
      const auto collective = named(name, cluster);
      for (const std::int64_t m : {1, 7919, 99'999'989}) {
        EXPECT_NEAR(static_cast<double>(MessageTimes(cluster, *collective).time({m}).count()),
                    static_cast<double>(collective->time({m}).count()),
                    static_cast<double>(2 * 2 * n * kPsPerByte + 1))
            << name << ", " << n << " ranks, " << m << " B";
      }
    }
  }
}

TEST(Data, EveryAllReduceLeavesTheSumOnEveryRank) {
  for (std::int64_t n = 2; n <= 33; ++n) {
    const Cluster cluster = star_cluster(n, kGamma);
    for (const std::string& name : made_of_messages(cluster)) {
      const auto collective = named(name, cluster);
      if (collective->operation() != Operation::kAllReduce) continue;
      for (const std::int64_t m : {0L, 1L, 97L, 301 + 7 * n}) {
        EXPECT_TRUE(all_reduces(collective->programs({m}), static_cast<Rank>(n), m, cluster))
            << name << ", " << n << " ranks, " << m << " B";
      }
    }
  }
}

TEST(Data, ScatteredPartsAreGathered) {
  for (Rank n = 1; n <= 33; ++n) {
    const std::int64_t m = 301 + 7 * n;
    const auto start = random_data(n, m);
    const auto scattered = carry(one(ring_reduce_scatter(n, {0, m})), star_cluster(n), start);
    ASSERT_FALSE(scattered.empty());
    const auto gathered = carry(one(ring_all_gather(n, {0, m})), star_cluster(n), scattered);
    ASSERT_FALSE(gathered.empty());
    for (const auto& values : gathered)
      EXPECT_EQ(values, sum_of(start)) << n << " ranks";
  }
}

TEST(Data, NodesOfAnySizeHoldTheSum) {
  for (Rank nodes = 1; nodes <= 16; ++nodes) {
    for (Rank gpus = 1; nodes * gpus <= 33; ++gpus) {
      Cluster cluster = star_cluster(nodes, kGamma);
      cluster.gpus_per_node = gpus;
      EXPECT_TRUE(
          all_reduces(named("hierarchical", cluster)->programs({97}), nodes * gpus, 97, cluster))
          << nodes << " x " << gpus;
    }
  }
}

TEST(Data, EveryWorkerPullsTheSum) {
  for (Rank workers = 1; workers <= 33; ++workers) {
    for (const Rank servers : {1, 3}) {
      const Rank ranks = workers + servers;
      auto start = random_data(ranks, 100);
      for (Rank s = workers; s < ranks; ++s)
        start[static_cast<std::size_t>(s)].assign(100, 0);
      const auto end =
          carry(one(push_pull(workers, servers, {0, 100}, 3)), star_cluster(ranks, kGamma), start);
      ASSERT_FALSE(end.empty());
      for (Rank w = 0; w < workers; ++w)
        EXPECT_EQ(end[static_cast<std::size_t>(w)], sum_of(start)) << workers << ' ' << servers;
    }
  }
}

TEST(Messages, AreAsManyAsTheProgramSays) {
  for (const std::int64_t n : {2, 5, 8, 13}) {
    const Cluster cluster = star_cluster(n);
    for (const std::string& name : made_of_messages(cluster)) {
      const Programs programs = named(name, cluster)->programs({3'000'000});
      double expected = 0;
      for (const auto& program : programs)
        expected += program->messages();
      const Machine machine(cluster);
      Engine engine;
      Network network(engine, machine);
      CollectivePlayer player(network, programs, {});
      player.start_at(Time{});
      engine.run();
      EXPECT_EQ(static_cast<double>(network.messages_delivered()), expected) << name << ' ' << n;
      EXPECT_EQ(play_cost(programs, machine), expected) << name << ' ' << n;  // two links each
    }
  }
  const auto incast = one(push_pull(5, 3, {0, 1000}, 4));
  const Machine machine(star_cluster(8));
  Engine engine;
  Network network(engine, machine);
  CollectivePlayer player(network, incast, {});
  player.start_at(Time{});
  engine.run();
  EXPECT_EQ(static_cast<double>(network.messages_delivered()), incast.front()->messages());
}

TEST(Messages, OverManyLinksCostMore) {
  // On a ring of 16 nodes rank 0 and its partners are 1, 2, 4 and 8 links apart.
  Cluster cluster = star_cluster(16);
  const std::string file = R"({"cluster": {"nodes": 16,
      "network": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"},
      "fabric": {"type": "ring"}}})";
  static const Params params{{.key = "cluster", .kind = Kind::kObject}};
  const Config config(std::make_shared<Document>(Document{"x.json", parse_json(file, "x.json")}),
                      params);
  cluster = read_cluster(config.object("cluster", cluster_params()));
  const auto programs = one(recursive_doubling(16, {0, 1000}));
  EXPECT_EQ(play_cost(programs, Machine(cluster)), 64 * (1 + 2 + 4 + 8) / 4.0 / 2);
}

}  // namespace
}  // namespace steptime
