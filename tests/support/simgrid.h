// The same traffic in SimGrid and here, on platforms on which the two must agree: SimGrid's CM02
// with its factors at 1, no window limit, and no cross-traffic. It shares a link between flows in
// inverse proportion to the latency of their routes (TCP's unfairness), which no setting turns off:
// give all routes the same latency.
#pragma once
#include "sim/collective/collective_program.h"
#include "sim/network/network.h"
#include "tests/support/wires.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <xbt/log.h>

#include <fmt/format.h>

namespace steptime {

struct Platform {
  struct Link {
    double bandwidth = 0;    ///< B/s
    double latency = 0;      ///< s
    bool is_shared = false;  ///< both directions share the bandwidth; else each has it
  };
  struct Hop {
    std::size_t link = 0;
    bool is_up = true;
  };
  Endpoint hosts = 0;
  std::vector<Link> links;
  /// Between any two hosts; empty: link h leads from host h to a switch.
  std::map<std::pair<Endpoint, Endpoint>, std::vector<Hop>> routes;

  Wires wires() const {
    std::vector<Channel> channels;
    for (const Link& link : links) {
      const Channel channel{{link.bandwidth}, from_seconds(link.latency)};
      channels.insert(channels.end(), 2, channel);
    }
    Wires wires(hosts, channels);
    const auto channel = [this](Hop hop) {
      return static_cast<ChannelId>(2 * hop.link +
                                    (hop.is_up || links[hop.link].is_shared ? 0 : 1));
    };
    for (Endpoint a = 0; a < hosts; ++a) {
      for (Endpoint b = 0; b < hosts; ++b) {
        if (a == b) continue;
        std::vector<ChannelId> path;
        for (const Hop hop : route(a, b))
          path.push_back(channel(hop));
        wires.set(a, b, std::move(path));
      }
    }
    return wires;
  }

  std::vector<Hop> route(Endpoint a, Endpoint b) const {
    if (!routes.empty()) return routes.at({a, b});
    return {{static_cast<std::size_t>(a), true}, {static_cast<std::size_t>(b), false}};
  }
};

/// Full duplex ports of 25 us and 1.25 GB/s on a switch.
inline Platform star_platform(Endpoint hosts) {
  return {hosts, std::vector<Platform::Link>(static_cast<std::size_t>(hosts), {1.25e9, 25e-6}), {}};
}

/// The channels of `routes`, each a link that goes one way. Latencies (s) are not those of the
/// routes but on all of them the same, one half on the first link and one on the last, which must
/// therefore lie between others on no route.
inline Platform platform_of(const Routes& routes, double latency) {
  Platform platform{.hosts = routes.endpoints()};
  for (const Channel& channel : routes.channels())
    platform.links.push_back({channel.bandwidth.bytes_per_second, 0, true});
  std::vector<ChannelId> path;
  for (Endpoint a = 0; a < platform.hosts; ++a) {
    for (Endpoint b = 0; b < platform.hosts; ++b) {
      if (a == b) continue;
      path.clear();
      routes.route(a, b, path);
      platform.links[path.front()].latency = platform.links[path.back()].latency = latency / 2;
      for (const ChannelId c : path)
        platform.routes[{a, b}].push_back({c, true});
    }
  }
  for (const auto& [ends, hops] : platform.routes) {
    double sum = 0;
    for (const Platform::Hop hop : hops)
      sum += platform.links[hop.link].latency;
    if (sum != latency) throw std::runtime_error("routes begin and end in the midst of others");
  }
  return platform;
}

/// A collective that is played beside others.
struct PlayedCollective {
  const Program* program = nullptr;
  std::vector<Endpoint> placement;  ///< the host of each rank
  std::int64_t start_us = 0;
};

struct Transfer {
  Endpoint from = 0;
  Endpoint to = 0;
  std::int64_t bytes = 0;
  std::int64_t start_us = 0;
};

/// What `simulate` returns, s, from a child process: SimGrid has one engine per process, for good.
template <class Simulate>
std::vector<double> in_child(Simulate simulate) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<double> times = simulate();
    const auto* data = reinterpret_cast<const char*>(times.data());
    std::size_t left = times.size() * sizeof(double);
    while (left > 0) {
      const ssize_t written = write(ends[1], data, left);
      if (written <= 0) _exit(1);
      data += written;
      left -= static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<double> times;
  double time = 0;
  while (read(ends[0], &time, sizeof time) == sizeof time)
    times.push_back(time);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("SimGrid failed");
  return times;
}

/// Lives in the child.
class SimGrid {
 public:
  /// `updates` "Lazy" is SimGrid's default, and faster; but in 3.32 flows that start together may
  /// then get more than a link has.
  explicit SimGrid(const Platform& platform, const std::string& updates = "Full") {
    xbt_log_control_set("xbt_cfg.thresh:error");
    for (const char* setting :
         {"network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1",
          "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0",
          "contexts/stack-size:64"})
      simgrid::s4u::Engine::set_config(setting);
    simgrid::s4u::Engine::set_config("network/optim:" + updates);
    const bool is_star = platform.routes.empty();
    auto* zone =
        is_star ? simgrid::s4u::create_star_zone("all") : simgrid::s4u::create_full_zone("all");
    for (Endpoint h = 0; h < platform.hosts; ++h)
      hosts_.push_back(zone->create_host(fmt::format("h{}", h), 1e9)->seal());
    std::vector<const simgrid::s4u::Link*> links;
    for (std::size_t i = 0; i < platform.links.size(); ++i) {
      const Platform::Link& link = platform.links[i];
      const std::string name = fmt::format("l{}", i);
      if (link.is_shared) {
        links.push_back(zone->create_link(name, link.bandwidth)->set_latency(link.latency)->seal());
      } else {
        auto* both = zone->create_split_duplex_link(name, link.bandwidth);
        both->set_latency(link.latency)->seal();
        links.push_back(both);
      }
    }
    using simgrid::s4u::LinkInRoute;
    for (Endpoint a = 0; is_star && a < platform.hosts; ++a) {
      zone->add_route(host(a)->get_netpoint(), nullptr, nullptr, nullptr,
                      {LinkInRoute(links[static_cast<std::size_t>(a)], LinkInRoute::Direction::UP)},
                      true);
    }
    for (const auto& [ends, hops] : platform.routes) {
      std::vector<LinkInRoute> path;
      for (const Platform::Hop hop : hops) {
        const auto direction =
            hop.is_up ? LinkInRoute::Direction::UP : LinkInRoute::Direction::DOWN;
        path.push_back(platform.links[hop.link].is_shared
                           ? LinkInRoute(links[hop.link])
                           : LinkInRoute(links[hop.link], direction));
      }
      zone->add_route(host(ends.first)->get_netpoint(), host(ends.second)->get_netpoint(), nullptr,
                      nullptr, path, false);
    }
    zone->seal();
  }

  /// When each transfer ends.
  std::vector<double> run(const std::vector<Transfer>& transfers) {
    std::vector<double> ends(transfers.size(), -1);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const Transfer& t = transfers[i];
      simgrid::s4u::Actor::create(fmt::format("t{}", i), host(t.from), [this, &t, &ends, i] {
        simgrid::s4u::this_actor::sleep_until(static_cast<double>(t.start_us) * 1e-6);
        simgrid::s4u::Comm::sendto(host(t.from), host(t.to), static_cast<std::uint64_t>(t.bytes));
        ends[i] = simgrid::s4u::Engine::get_clock();
      });
    }
    engine_.run();
    return ends;
  }

  /// When each of the collectives ends, all in one run; no time for adding up.
  std::vector<double> run(const std::vector<PlayedCollective>& collectives) {
    std::vector<double> ends(collectives.size(), -1);
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const PlayedCollective& played = collectives[i];
      for (Rank r = 0; r < played.program->ranks(); ++r) {
        simgrid::s4u::Actor::create(
            fmt::format("{}:{}", i, r), host(played.placement[static_cast<std::size_t>(r)]),
            [&played, &ends, i, r] {
              simgrid::s4u::this_actor::sleep_until(static_cast<double>(played.start_us) * 1e-6);
              play(*played.program, r, i);
              ends[i] = std::max(ends[i], simgrid::s4u::Engine::get_clock());
            });
      }
    }
    engine_.run();
    return ends;
  }
  /// One collective, of which rank r is on host r.
  double run(const Program& program) {
    std::vector<Endpoint> placement(static_cast<std::size_t>(program.ranks()));
    std::iota(placement.begin(), placement.end(), 0);
    return run(std::vector<PlayedCollective>{{&program, placement}}).front();
  }

 private:
  simgrid::s4u::Host* host(Endpoint h) const { return hosts_[static_cast<std::size_t>(h)]; }

  /// `number`: of the collective, for its mailboxes.
  static void play(const Program& program, Rank rank, std::size_t number) {
    std::map<std::pair<Rank, Rank>, simgrid::s4u::Mailbox*> boxes;
    const auto box = [&boxes, number](Rank from, Rank to) {
      auto*& known = boxes[{from, to}];
      if (known == nullptr)
        known = simgrid::s4u::Mailbox::by_name(fmt::format("{}:{}>{}", number, from, to));
      return known;
    };
    static char payload = 0;
    std::vector<simgrid::s4u::CommPtr> open;
    std::vector<char*> received;
    for (std::int32_t step = 0; step < program.steps(rank); ++step) {
      const Op op = program.op(rank, step);
      received.assign(static_cast<std::size_t>(op.recv.count), nullptr);
      for (Rank k = 0; k < op.send.count; ++k) {
        open.push_back(
            box(rank, op.send.peer(k))
                ->put_async(&payload, static_cast<std::uint64_t>(op.send.slice_of(k).bytes)));
      }
      for (Rank k = 0; k < op.recv.count; ++k) {
        open.push_back(
            box(op.recv.peer(k), rank)->get_async<char>(&received[static_cast<std::size_t>(k)]));
      }
      simgrid::s4u::Comm::wait_all(open);
      open.clear();
    }
  }

  simgrid::s4u::Engine engine_{"steptime"};
  std::vector<simgrid::s4u::Host*> hosts_;
};

}  // namespace steptime
