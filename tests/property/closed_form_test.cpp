// Every collective that is made of messages, found by its name: without other traffic its messages
// take the time of its closed form, and whoever should holds the sum at the end.
#include "netmodels/programs.h"
#include "sim/collective/collective.h"
#include "sim/core/error.h"
#include "sim/network/read_cluster.h"
#include "tests/support/collectives.h"
#include "tests/support/generators.h"
#include "tests/support/play.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

/// Whether some slice that the messages carry is a byte longer than another.
bool cuts_unevenly(const Programs& programs) {
  std::set<std::int64_t> sizes;
  for (const auto& program : programs) {
    for (Rank r = 0; r < program->ranks(); ++r) {
      for (std::int32_t s = 0; s < program->steps(r); ++s) {
        const Side send = program->op(r, s).send;
        if (send.count > 0) sizes.insert(send.slice.bytes);
      }
    }
  }
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](std::int64_t size) { return sizes.contains(size + 1); });
}

void expect_in_bound(const Collective& collective, double closed, double played,
                     const std::string& what) {
  const auto bound = collective.error_bound();
  ASSERT_TRUE(bound) << what << ": an estimate declares its error_bound()";
  EXPECT_GE(closed, played * (1 + bound->least)) << what;
  EXPECT_LE(closed, played * (1 + bound->most)) << what;
}

/// To the picosecond where all parts of what is cut are as long, and to the byte where they are not
/// (up and down two trees, on a link that two share); estimates within their bound.
void expect_as_messages_of_a_star(const std::string& name, const Cluster& cluster, std::int64_t m) {
  const auto collective = named(name, cluster);
  const auto closed = static_cast<double>(collective->time({m}).count());
  const auto played = static_cast<double>(MessageTimes(cluster, *collective).time({m}).count());
  const auto what = [&] {
    return name + ", " + std::to_string(cluster.nodes) + " x " +
           std::to_string(cluster.gpus_per_node) + ", " + std::to_string(m) + " B, gamma " +
           std::to_string(cluster.reduction.seconds_per_byte);
  };
  if (collective->error_bound()) return expect_in_bound(*collective, closed, played, what());
  const bool is_uneven = cuts_unevenly(collective->programs({m}));
  EXPECT_NEAR(closed, played, is_uneven ? static_cast<double>(2 * (2 * kPsPerByte + sum_ps(1))) : 0)
      << what();
}

TEST(ClosedForm, EqualsTheMessagesOfEveryCollective) {
  // Powers of two; sizes that cut evenly into 32 parts for each of two rings. 800 ps and
  // 1000 ps per byte are whole numbers, so that nothing is rounded.
  int checked = 0;
  for (const std::int64_t n : {4, 8, 16, 32}) {
    for (const TimePerByte gamma : {TimePerByte{}, kGamma}) {
      const Cluster cluster = star_cluster(n, gamma);
      for (const std::string& name : made_of_messages(cluster)) {
        for (const std::int64_t m : {0, 64, 64 * 3125, 64 << 20}) {
          expect_as_messages_of_a_star(name, cluster, m);
          checked += named(name, cluster)->error_bound() ? 0 : 1;
        }
      }
    }
  }
  // Eleven collectives at least, of which one overlaps what it adds up with what it sends.
  EXPECT_GE(checked, 4 * 4 * (10 + 11));
}

TEST(ClosedForm, EqualsTheMessagesInsideANodeAndAcrossNodes) {
  for (const TimePerByte gamma : {TimePerByte{}, kGamma}) {
    for (const auto& [nodes, gpus] : {std::pair{1, 8}, std::pair{2, 4}, std::pair{8, 2}}) {
      Cluster cluster = star_cluster(nodes, gamma);
      cluster.gpus_per_node = gpus;
      cluster.intra_node = {std::chrono::microseconds(2), {1e10}};  // 100 ps per byte
      for (const std::string& name : made_of_messages(cluster)) {
        for (const std::int64_t m : {0, 64, 64 * 3125, 64 << 20})
          expect_as_messages_of_a_star(name, cluster, m);
      }
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

/// Exact to the byte that a cut part is longer, or within the bound that its file declares.
void expect_as_messages(const std::string& name, const Cluster& cluster, std::int64_t m) {
  const auto collective = named(name, cluster);
  const double closed = to_seconds(collective->time({m}));
  const double played = to_seconds(MessageTimes(cluster, *collective).time({m}));
  const auto n = static_cast<double>(cluster.workers());
  const auto what = [&] {
    return name + ", " + std::to_string(cluster.nodes) + " x " +
           std::to_string(cluster.gpus_per_node) + ", " + std::to_string(m) + " B";
  };
  const bool is_estimate = !collective->outside_domain({m}).empty();
  if (!is_estimate) {
    const double byte = 1 / std::min(cluster.intra_node.bandwidth.bytes_per_second,
                                     cluster.network.bandwidth.bytes_per_second) +
                        cluster.reduction.seconds_per_byte;
    EXPECT_NEAR(closed, played, 4 * n * byte)
        << what() << ": outside_domain() says nothing, so this is exact";
  } else {
    expect_in_bound(*collective, closed, played, what());
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
}

TEST(ClosedForm, OfManyRanksOutOfStepKeepsItsBound) {
  for (const auto& [nodes, gpus] : {std::pair{96, 8}, {100, 6}, {171, 3}}) {
    for (const bool fast_inside : {true, false}) {
      const Cluster cluster = shared_cluster(nodes, gpus, fast_inside);
      int estimates = 0;
      for (const std::string& name : made_of_messages(cluster)) {
        if (!named(name, cluster)->error_bound()) continue;
        expect_as_messages(name, cluster, 1 << 20);
        ++estimates;
      }
      EXPECT_GE(estimates, 3);
    }
  }
}

/// Up to 9 nodes of up to 8 GPUs; latencies are often 0, or equal.
struct Draw {
  Cluster cluster;
  std::int64_t bytes = 0;
};
rc::Gen<Draw> any_draw() {
  return rc::gen::exec([] {
    const auto rate = rc::gen::inRange<std::int64_t>(1, 1000);
    Draw draw;
    draw.cluster = {.nodes = *rc::gen::inRange(1, 10), .gpus_per_node = *rc::gen::inRange(1, 9)};
    draw.cluster.network = {*any_duration(100'000'000), {static_cast<double>(*rate) * 1e8}};
    draw.cluster.intra_node = {*any_duration(100'000'000), {static_cast<double>(*rate) * 1e8}};
    draw.cluster.reduction = {static_cast<double>(*rc::gen::element(0, 0, 1, 10)) * 1e-10};
    draw.bytes = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 1000),
                                 rc::gen::inRange<std::int64_t>(0, 1'000'000'000));
    return draw;
  });
}
void show(const std::string& name, const Draw& draw) {
  const Cluster& c = draw.cluster;
  RC_LOG(name + ": " + std::to_string(c.nodes) + " x " + std::to_string(c.gpus_per_node) + ", " +
         std::to_string(c.network.latency.count()) + " ps, " +
         std::to_string(c.network.bandwidth.bytes_per_second) + " B/s; inside " +
         std::to_string(c.intra_node.latency.count()) + " ps, " +
         std::to_string(c.intra_node.bandwidth.bytes_per_second) + " B/s; gamma " +
         std::to_string(c.reduction.seconds_per_byte) + "; " + std::to_string(draw.bytes) + " B");
}

/// A collective without a closed form takes what its messages take, and these may be out of step by
/// a byte more or less in each of their steps. With a closed form nothing excuses a longer time.
void expect_no_longer(const Collective& less, const Cluster& less_cluster, std::int64_t less_bytes,
                      const Collective& more, const Draw& draw) {
  const Duration shorter = less.time({less_bytes});
  const Duration longer = more.time({draw.bytes});
  if (shorter <= longer) return;
  RC_ASSERT(shorter == MessageTimes(less_cluster, less).time({less_bytes}));
  RC_ASSERT(longer == MessageTimes(draw.cluster, more).time({draw.bytes}));
  RC_ASSERT(cuts_unevenly(less.programs({less_bytes})) ||
            cuts_unevenly(more.programs({draw.bytes})));
  const double byte = 1 / std::min(draw.cluster.network.bandwidth.bytes_per_second,
                                   draw.cluster.intra_node.bandwidth.bytes_per_second);
  RC_ASSERT(to_seconds(shorter - longer) <= static_cast<double>(draw.cluster.workers()) * byte);
}

RC_GTEST_PROP(ClosedForm, NeverGrowsWithTheBandwidthOfAllLinks, ()) {
  const Draw draw = *any_draw();
  const double factor = static_cast<double>(*rc::gen::inRange(1001, 4000)) / 1000;
  Cluster faster = draw.cluster;
  faster.network.bandwidth.bytes_per_second *= factor;
  faster.intra_node.bandwidth.bytes_per_second *= factor;
  for (const std::string& name : made_of_messages(draw.cluster)) {
    show(name, draw);
    expect_no_longer(*named(name, faster), faster, draw.bytes, *named(name, draw.cluster), draw);
  }
}

RC_GTEST_PROP(ClosedForm, NeverGrowsWhenBytesAreLess, ()) {
  const Draw draw = *any_draw();
  const std::int64_t less =
      *rc::gen::oneOf(rc::gen::just(std::max<std::int64_t>(draw.bytes - 1, 0)),
                      rc::gen::inRange<std::int64_t>(0, draw.bytes + 1));
  for (const std::string& name : made_of_messages(draw.cluster)) {
    show(name, draw);
    const auto collective = named(name, draw.cluster);
    expect_no_longer(*collective, draw.cluster, less, *collective, draw);
  }
}

TEST(ClosedForm, IsOffByTheCutOfOddSizesOnly) {
  // A message of a part has whole bytes: one more at most, in each of at most 2 N steps.
  for (const std::int64_t n : {4, 8, 32}) {
    const Cluster cluster = star_cluster(n);
    for (const std::string& name : made_of_messages(cluster)) {
      const auto collective = named(name, cluster);
      for (const std::int64_t m : {1, 7919, 99'999'989}) {
        const auto closed = static_cast<double>(collective->time({m}).count());
        const auto played =
            static_cast<double>(MessageTimes(cluster, *collective).time({m}).count());
        const auto what = fmt::format("{}, {} ranks, {} B", name, n, m);
        if (collective->outside_domain({m}).empty())
          EXPECT_NEAR(played, closed, static_cast<double>(2 * 2 * n * kPsPerByte + 1)) << what;
        else
          expect_in_bound(*collective, closed, played, what);
      }
    }
  }
}

TEST(Stages, AddUpToTheWholeOfEveryCollective) {
  int of_messages = 0;
  int by_time_only = 0;
  for (const auto& [nodes, gpus] : {std::pair{1, 1}, {1, 4}, {2, 1}, {5, 1}, {2, 4}, {3, 3}}) {
    for (const bool fast_inside : {true, false}) {
      const Cluster cluster = shared_cluster(nodes, gpus, fast_inside, kGamma);
      for (const auto& [name, unused] : Collectives::instance().items()) {
        std::unique_ptr<Collective> collective;
        try {
          collective = named(name, cluster);
        } catch (const InputError&) {  // needs parameters, or more than a plain cluster
          continue;
        }
        const bool has_messages = !collective->programs({1}).empty();
        for (const std::int64_t m : {0, 1, 1000, 7919, 99'999'989}) {
          const auto stages = collective->stages({m});
          Duration sum{};
          for (const Stage& stage : stages) {
            EXPECT_GE(stage.startup, Duration{}) << name;
            EXPECT_GE(stage.work, Duration{}) << name;
            EXPECT_TRUE(stage.where == Pairs::kInNode ||
                        (nodes > 1 && stage.where == Pairs::kBetweenNodes))
                << name;
            sum += stage.startup + stage.work;
          }
          EXPECT_EQ(sum, has_messages ? collective->time({m}) : Duration{})
              << name << ", " << nodes << " x " << gpus << ", " << m << " B";
          (has_messages ? of_messages : by_time_only) += 1;
        }
      }
    }
  }
  // At least ring and its eleven companions in messages; nccl and openmpi by their time only.
  EXPECT_GE(of_messages, 6 * 2 * 5 * 11);
  EXPECT_GE(by_time_only, 5 * 2 * 5);
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
  for (Rank nodes = 1; nodes <= 8; ++nodes) {
    for (Rank gpus = 2; nodes * gpus <= 24; ++gpus) {
      const Cluster cluster = shared_cluster(nodes, gpus, true, kGamma);
      for (const std::string& name : made_of_messages(cluster)) {
        const auto collective = named(name, cluster);
        if (collective->operation() != Operation::kAllReduce) continue;
        EXPECT_TRUE(all_reduces(collective->programs({97}), nodes * gpus, 97, cluster))
            << name << ", " << nodes << " x " << gpus;
      }
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

/// Sizes on both sides of whatever a collective may change at.
TEST(ClosedForm, OfALineTheDomainIsTheSameForAllSizes) {
  int lines = 0;
  for (const std::int64_t nodes : {1, 3, 4}) {
    for (const std::int64_t gpus : {1, 3, 4}) {
      Cluster cluster = star_cluster(nodes, kGamma);
      cluster.gpus_per_node = gpus;
      for (const std::string& name : made_of_messages(cluster)) {
        const auto collective = named(name, cluster);
        if (!collective->linear()) continue;
        ++lines;
        for (const std::int64_t bytes : {0L, 1000L, 1L << 24, 1L << 34}) {
          EXPECT_EQ(collective->outside_domain({bytes}), collective->outside_domain({1}))
              << name << " on " << nodes << " nodes of " << gpus << ", " << bytes << " B";
        }
      }
    }
  }
  EXPECT_GT(lines, 20);
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
