// Rates that follow flows as they come and go, and the network, against slow and obvious ones.
#include "sim/network/max_min.h"

#include "sim/network/network.h"
#include "tests/support/wires.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// Water filling by the book: raise all rates together until a channel is full, fix its flows,
/// go on with the rest.
std::vector<double> water_fill(const std::vector<double>& capacity,
                               const std::vector<std::vector<std::uint32_t>>& flows) {
  std::vector<double> rate(flows.size(), 0);
  std::vector<bool> fixed(flows.size(), false);
  for (;;) {
    double raise = std::numeric_limits<double>::infinity();
    std::uint32_t full = 0;
    for (std::uint32_t c = 0; c < capacity.size(); ++c) {
      double left = capacity[c];
      int open = 0;
      for (std::size_t f = 0; f < flows.size(); ++f) {
        if (std::find(flows[f].begin(), flows[f].end(), c) == flows[f].end()) continue;
        if (fixed[f]) {
          left -= rate[f];
        } else {
          ++open;
        }
      }
      if (open > 0 && left / open < raise) {
        raise = left / open;
        full = c;
      }
    }
    if (std::isinf(raise)) return rate;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (fixed[f] || std::find(flows[f].begin(), flows[f].end(), full) == flows[f].end()) continue;
      rate[f] = raise;
      fixed[f] = true;
    }
  }
}

struct Problem {
  std::vector<double> capacity;
  std::vector<std::vector<std::uint32_t>> flows;
};

/// Few distinct capacities, so that ties are common.
Problem arbitrary_problem() {
  Problem p;
  const auto channels = *rc::gen::inRange<std::uint32_t>(1, 20);
  const bool ties = *rc::gen::arbitrary<bool>();
  for (std::uint32_t c = 0; c < channels; ++c) {
    p.capacity.push_back(ties ? *rc::gen::element(1e9, 1.25e9, 1e10)
                              : *rc::gen::inRange(1, 1'000'000'000) * 13.7);
  }
  const auto flows = *rc::gen::inRange(1, 30);
  for (int f = 0; f < flows; ++f) {
    const auto hops = *rc::gen::inRange<std::uint32_t>(1, std::min(channels, 5U) + 1);
    auto path = *rc::gen::unique<std::vector<std::uint32_t>>(
        hops, rc::gen::inRange<std::uint32_t>(0, channels));
    p.flows.push_back(std::move(path));
  }
  return p;
}

/// The paths of those flows that are there.
std::vector<std::vector<std::uint32_t>> paths_of(const Problem& p,
                                                 const std::vector<std::uint32_t>& flows) {
  std::vector<std::vector<std::uint32_t>> paths;
  for (const std::uint32_t flow : flows)
    paths.push_back(p.flows[flow]);
  return paths;
}

// Flows come and go and capacities change, some at a time; after each time the rates are those of a
// solution from scratch.
RC_GTEST_PROP(MaxMin, EqualsWaterFilling, ()) {
  Problem p = arbitrary_problem();
  MaxMin solver;
  for (const double capacity : p.capacity)
    solver.add_channel(capacity);
  const auto solver_channels = static_cast<std::uint32_t>(p.capacity.size());
  std::vector<std::uint32_t> there;
  std::vector<std::uint32_t> away(p.flows.size());
  std::iota(away.begin(), away.end(), 0U);
  for (int times = *rc::gen::inRange(1, 20); times > 0; --times) {
    for (int changes = *rc::gen::inRange(1, 8); changes > 0; --changes) {
      if (*rc::gen::inRange(0, 4) == 0) {
        const auto channel = *rc::gen::inRange<std::uint32_t>(0, solver_channels);
        p.capacity[channel] *= *rc::gen::element(0.1, 0.5, 1.0, 2.0, 7.0);
        solver.set_capacity(channel, p.capacity[channel]);
        continue;
      }
      const bool comes = there.empty() || (!away.empty() && *rc::gen::inRange(0, 9) < 5);
      auto& from = comes ? away : there;
      auto& to = comes ? there : away;
      std::swap(from[*rc::gen::inRange<std::size_t>(0, from.size())], from.back());
      const std::uint32_t flow = from.back();
      from.pop_back();
      to.push_back(flow);
      if (comes)
        solver.add(flow, p.flows[flow]);
      else
        solver.remove(flow);
    }
    solver.solve();
    const auto expected = water_fill(p.capacity, paths_of(p, there));
    std::vector<double> load(p.capacity.size(), 0);
    for (std::size_t i = 0; i < there.size(); ++i) {
      const double rate = solver.level(solver.bottleneck(there[i]));
      RC_ASSERT(std::abs(rate / expected[i] - 1) < 1e-12);
      for (const std::uint32_t c : p.flows[there[i]])
        load[c] += rate;
    }
    for (std::uint32_t c = 0; c < load.size(); ++c)
      RC_ASSERT(std::abs(solver.load(c) - load[c]) <= 1e-12 * load[c]);
  }
}

struct Arrival {
  std::int64_t time;  ///< ps
  std::size_t flow;   ///< which path
  std::int64_t bytes;
};

/// When each message is delivered, by solving everything anew at each arrival and departure.
std::vector<double> slow_transport(const Problem& p, const std::vector<Arrival>& arrivals) {
  struct Live {
    std::size_t arrival;
    double left;
  };
  std::vector<double> end(arrivals.size(), 0);
  std::vector<Live> live;
  std::size_t next = 0;  // arrivals in order of time
  double now = 0;        // ps
  while (next < arrivals.size() || !live.empty()) {
    std::vector<std::vector<std::uint32_t>> flows;
    for (const Live& l : live)
      flows.push_back(p.flows[arrivals[l.arrival].flow]);
    const auto rates = water_fill(p.capacity, flows);
    double until = next < arrivals.size() ? static_cast<double>(arrivals[next].time)
                                          : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < live.size(); ++i)
      until = std::min(until, now + live[i].left / rates[i] * 1e12);
    for (std::size_t i = 0; i < live.size(); ++i)
      live[i].left -= rates[i] * (until - now) / 1e12;
    now = until;
    for (std::size_t i = live.size(); i-- > 0;) {
      if (live[i].left > 1e-9 * rates[i] / 1e3 && live[i].left > 1e-6) continue;
      end[live[i].arrival] = now;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    while (next < arrivals.size() && static_cast<double>(arrivals[next].time) <= now) {
      live.push_back({next, static_cast<double>(arrivals[next].bytes)});
      ++next;
    }
  }
  return end;
}

RC_GTEST_PROP(Network, EqualsASimulationThatSolvesEverythingAnew, ()) {
  const Problem p = arbitrary_problem();
  std::vector<Channel> channels;
  for (const double capacity : p.capacity)
    channels.push_back({{std::max(capacity, 1e6)}, Duration{}});
  Problem rounded = p;
  for (double& capacity : rounded.capacity)
    capacity = std::max(capacity, 1e6);
  // Path f leads from endpoint f to endpoint `flows`.
  const auto flows = static_cast<Endpoint>(p.flows.size());
  Wires wires(flows + 1, channels);
  for (Endpoint f = 0; f < flows; ++f)
    wires.set(f, flows, p.flows[static_cast<std::size_t>(f)]);
  std::vector<Arrival> arrivals;
  const auto count = *rc::gen::inRange(1, 40);
  for (int i = 0; i < count; ++i) {
    arrivals.push_back({*rc::gen::inRange<std::int64_t>(0, 5) * 1'000'000,
                        *rc::gen::inRange<std::size_t>(0, p.flows.size()),
                        *rc::gen::inRange<std::int64_t>(1, 100'000)});
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& x, const Arrival& y) { return x.time < y.time; });

  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  for (const Arrival& a : arrivals)
    box.send_at(Time(Duration(a.time)), static_cast<Endpoint>(a.flow), flows, a.bytes);
  std::vector<std::int64_t> expected_bytes(p.capacity.size(), 0);
  std::int64_t sent = 0;
  for (const Arrival& a : arrivals) {
    sent += a.bytes;
    for (const std::uint32_t c : p.flows[a.flow])
      expected_bytes[c] += a.bytes;
  }
  Time before{};
  while (engine.step()) {
    if (network.now() == before) continue;  // rates are set when an instant is over
    before = network.now();
    for (std::uint32_t c = 0; c < channels.size(); ++c)
      RC_ASSERT(network.load(c) <= channels[c].bandwidth.bytes_per_second * (1 + 1e-12));
  }
  // Every byte that went in came out, and over the channels of its route.
  RC_ASSERT(box.bytes == sent);
  for (std::uint32_t c = 0; c < channels.size(); ++c)
    RC_ASSERT(network.carried(c) == expected_bytes[c]);
  const auto expected = slow_transport(rounded, arrivals);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    // Each change of rate rounds a completion to a picosecond.
    RC_ASSERT(std::abs(static_cast<double>(box.at[static_cast<std::int32_t>(i)]) - expected[i]) <
              100 + 1e-9 * expected[i]);
  }
}

// A byte takes a whole number of quarters of a picosecond, or of twelfths where three share a link,
// so that many a message ends at half a picosecond. It is rounded up whatever the network carried
// before, and in whatever order the messages of an instant are sent.
RC_GTEST_PROP(Network, NeitherWhatItCarriedNorTheOrderOfAnInstantChangesTimes, ()) {
  Problem p = arbitrary_problem();
  for (double& capacity : p.capacity)
    capacity = *rc::gen::element(1e12, 2e12, 4e12);
  std::vector<Channel> channels;
  for (const double capacity : p.capacity)
    channels.push_back({{capacity}, Duration{}});
  const auto flows = static_cast<Endpoint>(p.flows.size());
  Wires wires(flows + 1, channels);
  for (Endpoint f = 0; f < flows; ++f)
    wires.set(f, flows, p.flows[static_cast<std::size_t>(f)]);
  std::vector<std::int64_t> sizes;
  for (Endpoint f = 0; f < flows; ++f)
    sizes.push_back(*rc::gen::inRange<std::int64_t>(1, 100'000'000));
  // How long each flow takes, ps; -1: it is not among them.
  const auto play = [&](Network& network, const std::vector<Endpoint>& sent) {
    const Time start = network.now();
    Mailbox box(network);
    for (const Endpoint f : sent)
      box.send_at(start, f, flows, sizes[static_cast<std::size_t>(f)]);
    network.engine().run();
    std::vector<std::int64_t> times(sizes.size(), -1);
    for (std::size_t i = 0; i < sent.size(); ++i)
      times[static_cast<std::size_t>(sent[i])] =
          box.at[static_cast<std::int32_t>(i)] - since_start(start).count();
    return times;
  };
  std::vector<Endpoint> sent(sizes.size());
  std::iota(sent.begin(), sent.end(), 0);
  Engine engine;
  Network used(engine, wires);
  Engine another;
  Network unused(another, wires);
  const std::vector<std::int64_t> times = play(unused, sent);
  for (std::size_t i = sent.size(); i > 1; --i)
    std::swap(sent[i - 1], sent[*rc::gen::inRange<std::size_t>(0, i)]);
  play(used, {sent.begin(), sent.begin() + *rc::gen::inRange<Endpoint>(0, flows)});
  RC_ASSERT(play(used, sent) == times);
}

}  // namespace
}  // namespace steptime
