// Message fidelity against SimGrid itself, where it is installed: whole collectives and random
// transfers, on a star and on random graphs.
#include "tests/support/simgrid.h"

#include "netmodels/programs.h"
#include "sim/collective/collective_player.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
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

double largest(const std::vector<double>& times) {
  return times.empty() ? -1 : *std::max_element(times.begin(), times.end());
}

/// s.
double ours(const Platform& platform, const Program& program) {
  const Wires wires = platform.wires();
  Engine engine;
  Network network(engine, wires);
  ProgramPlayer player(network, program, {});
  player.start_at(Time{});
  engine.run();
  return player.is_over() ? to_seconds(since_start(player.end())) : -1;
}

void expect_agreement(const Platform& platform, const Program& program, const std::string& what) {
  const double theirs = largest(in_child([&] { return SimGrid(platform).run(program); }));
  ASSERT_GT(theirs, 0) << what;
  EXPECT_NEAR(ours(platform, program) / theirs, 1, kTolerance) << what;
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
