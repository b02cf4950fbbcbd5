// Message fidelity against SimGrid itself, where it is installed: whole collectives, alone and
// several at once, and random transfers, on a star, on random graphs, on a fat tree and inside a
// node.
#include "tests/support/simgrid.h"

#include "netmodels/programs.h"
#include "sim/collective/collective_player.h"
#include "sim/network/machine.h"
#include "sim/network/read_cluster.h"
#include "tests/support/config_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr double kTolerance = 1e-4;  // SimGrid computes rates and times to about 1e-5

/// Uniform in first to last, the same with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first +
           static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(last - first + 1));
  }

 private:
  std::mt19937_64 bits_;
};

/// A connected graph of routers with hosts at some of them. Only the hosts' links have a latency,
/// the same one. Links are full duplex or shared by both directions; routes have the fewest hops.
Platform random_platform(Dice& dice, Endpoint hosts) {
  const auto routers = static_cast<Endpoint>(dice.between(2, 8));
  struct Edge {
    Endpoint to;
    Platform::Hop hop;
  };
  std::vector<std::vector<Edge>> edges(static_cast<std::size_t>(hosts + routers));
  Platform platform{.hosts = hosts};
  const auto add = [&](Endpoint a, Endpoint b, double latency) {
    platform.links.push_back(
        {static_cast<double>(dice.between(1, 10)) * 1.25e8, latency, dice.between(0, 1) == 0});
    const std::size_t link = platform.links.size() - 1;
    edges[static_cast<std::size_t>(a)].push_back({b, {link, true}});
    edges[static_cast<std::size_t>(b)].push_back({a, {link, false}});
  };
  for (Endpoint h = 0; h < hosts; ++h)
    add(h, static_cast<Endpoint>(hosts + dice.between(0, routers - 1)), 20e-6);
  for (Endpoint r = 1; r < routers; ++r)
    add(hosts + r, static_cast<Endpoint>(hosts + dice.between(0, r - 1)), 0);
  for (std::int64_t extra = dice.between(0, routers); extra > 0; --extra) {
    const auto a = static_cast<Endpoint>(hosts + dice.between(0, routers - 1));
    const auto b = static_cast<Endpoint>(hosts + dice.between(0, routers - 1));
    if (a != b) add(a, b, 0);
  }
  for (Endpoint from = 0; from < hosts; ++from) {
    std::vector<std::vector<Platform::Hop>> path(edges.size());
    std::vector<bool> seen(edges.size(), false);
    seen[static_cast<std::size_t>(from)] = true;
    for (std::deque<Endpoint> next{from}; !next.empty(); next.pop_front()) {
      const auto at = static_cast<std::size_t>(next.front());
      for (const Edge& edge : edges[at]) {
        const auto to = static_cast<std::size_t>(edge.to);
        if (seen[to]) continue;
        seen[to] = true;
        path[to] = path[at];
        path[to].push_back(edge.hop);
        next.push_back(edge.to);
      }
    }
    for (Endpoint to = 0; to < hosts; ++to) {
      if (to != from) platform.routes[{from, to}] = path[static_cast<std::size_t>(to)];
    }
  }
  return platform;
}

/// When each of the collectives ends, s.
std::vector<double> ours(const Platform& platform,
                         const std::vector<PlayedCollective>& collectives) {
  const Wires wires = platform.wires();
  Engine engine;
  Network network(engine, wires);
  std::deque<ProgramPlayer> players;
  for (const PlayedCollective& played : collectives) {
    players.emplace_back(network, *played.program, TimePerByte{}, played.placement);
    players.back().start_at(Time(std::chrono::microseconds(played.start_us)));
  }
  engine.run();
  std::vector<double> ends;
  for (const ProgramPlayer& player : players)
    ends.push_back(player.is_over() ? to_seconds(since_start(player.end())) : -1);
  return ends;
}

void expect_agreement(const Platform& platform, const std::vector<PlayedCollective>& collectives,
                      double tolerance, const std::string& what) {
  const auto theirs = in_child([&] { return SimGrid(platform).run(collectives); });
  ASSERT_EQ(theirs.size(), collectives.size()) << what;
  const std::vector<double> here = ours(platform, collectives);
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    ASSERT_GT(theirs[i], 0) << what;
    const double start = static_cast<double>(collectives[i].start_us) * 1e-6;
    EXPECT_NEAR((here[i] - start) / (theirs[i] - start), 1, tolerance) << what << ", number " << i;
  }
}

std::vector<Endpoint> in_order(Rank ranks) {
  std::vector<Endpoint> placement(static_cast<std::size_t>(ranks));
  std::iota(placement.begin(), placement.end(), 0);
  return placement;
}

void expect_agreement(const Platform& platform, const Program& program, const std::string& what) {
  expect_agreement(platform, {{&program, in_order(program.ranks())}}, kTolerance, what);
}

std::unique_ptr<Program> program_of(const std::string& name, Rank n, std::int64_t bytes) {
  if (name == "ring") return ring_all_reduce(n, {0, bytes});
  if (name == "recursive doubling") return recursive_doubling(n, {0, bytes});
  if (name == "halving-doubling") return halving_doubling(n, {0, bytes});
  if (name == "tree") return tree_all_reduce(n, {0, bytes}, 4, first_tree);
  return push_pull(n - 1, 1, {0, bytes}, 3);  // incast
}
constexpr std::array kNames{"ring", "recursive doubling", "halving-doubling", "tree", "incast"};

TEST(SimGrid, AgreesOnAStar) {
  for (const std::string name : kNames) {
    for (const Rank n : {2, 8, 13, 32}) {
      for (const std::int64_t bytes : {1'000, 200'000, 10'000'000}) {
        expect_agreement(star_platform(n), *program_of(name, n, bytes),
                         fmt::format("{}, {} ranks, {} B", name, n, bytes));
      }
    }
  }
}

TEST(SimGrid, AgreesOnCollectivesOverRandomGraphs) {
  Dice dice(1);
  for (int i = 0; i < 40; ++i) {
    const auto n = static_cast<Rank>(dice.between(3, 14));
    const Platform platform = random_platform(dice, n);
    const std::int64_t bytes = dice.between(1'000'000, 100'000'000);
    const std::string name = kNames[static_cast<std::size_t>(i) % kNames.size()];
    expect_agreement(platform, *program_of(name, n, bytes),
                     fmt::format("graph {}: {}, {} ranks, {} B", i, name, n, bytes));
  }
}

/// 16 GPUs that share links in other ways: each in a node of its own, on a switch and on a fat
/// tree, whose links between switches have half the bandwidth of a port; and all in one node, below
/// its PCIe switches.
std::vector<std::pair<std::string, Platform>> platforms_of_16() {
  const auto platform = [](const char* cluster) {
    return platform_of(Machine(read_cluster(config_of(cluster, cluster_params()))), 20e-6);
  };
  return {{"switch", platform(R"({"nodes": 16, "network": {"type": "switch", "latency": "1 us",
                                  "bandwidth": "1.25 GB/s"}})")},
          {"fat tree", platform(R"({"nodes": 16, "network": {"type": "switch", "latency": "1 us",
                                    "bandwidth": "1.25 GB/s"},
                                    "fabric": {"type": "fat-tree", "radix": 4,
                                               "bandwidth": "0.625 GB/s"}})")},
          {"node", platform(R"({"preset": "p2.16xlarge", "nodes": 1, "gpus_per_node": 16})")}};
}

// Two and four collectives at once, each with another order of the ranks or with some of them only,
// the later ones while the first are under way.
TEST(SimGrid, AgreesOnCollectivesAtOnce) {
  const auto ring = program_of("ring", 16, 20'000'000);
  const auto halving = program_of("halving-doubling", 16, 30'000'000);
  const auto tree = program_of("tree", 8, 10'000'000);
  const auto incast = program_of("incast", 7, 4'000'000);
  std::vector<Endpoint> by_fives;
  std::vector<Endpoint> even;
  std::vector<Endpoint> last;
  for (Endpoint r = 0; r < 16; ++r)
    by_fives.push_back(5 * r % 16);
  for (Endpoint r = 0; r < 16; r += 2)
    even.push_back(r);
  for (Endpoint r = 15; r > 8; --r)
    last.push_back(r);
  const std::vector<PlayedCollective> all{{ring.get(), in_order(16)},
                                          {halving.get(), by_fives, 300},
                                          {tree.get(), even, 1'000},
                                          {incast.get(), last, 2'000}};
  for (const auto& [name, platform] : platforms_of_16()) {
    for (const std::ptrdiff_t count : {2, 4}) {
      expect_agreement(platform, {all.begin(), all.begin() + count}, 1e-3,
                       fmt::format("{} collectives on a {}", count, name));
    }
  }
}

TEST(SimGrid, AgreesOnRandomTransfersOverRandomGraphs) {
  Dice dice(2);
  for (int i = 0; i < 40; ++i) {
    const auto hosts = static_cast<Endpoint>(dice.between(3, 14));
    const Platform platform = random_platform(dice, hosts);
    std::vector<Transfer> transfers;
    for (std::int64_t t = dice.between(2, 60); t > 0; --t) {
      const auto from = static_cast<Endpoint>(dice.between(0, hosts - 1));
      const auto to = static_cast<Endpoint>((from + dice.between(1, hosts - 1)) % hosts);
      transfers.push_back({from, to, dice.between(10'000, 50'000'000), dice.between(0, 500'000)});
    }
    const Wires wires = platform.wires();
    Engine engine;
    Network network(engine, wires);
    Mailbox box(network);
    for (const Transfer& t : transfers)
      box.send_at(Time(std::chrono::microseconds(t.start_us)), t.from, t.to, t.bytes);
    engine.run();
    const auto theirs = in_child([&] { return SimGrid(platform).run(transfers); });
    ASSERT_EQ(theirs.size(), transfers.size());
    for (std::size_t t = 0; t < transfers.size(); ++t) {
      const double start = static_cast<double>(transfers[t].start_us) * 1e-6;
      const double end = static_cast<double>(box.at.at(static_cast<std::int32_t>(t))) * 1e-12;
      EXPECT_NEAR((end - start) / (theirs[t] - start), 1, kTolerance)
          << "graph " << i << ", transfer " << t;
    }
  }
}

}  // namespace
}  // namespace steptime
