#include "sim/collective/message_time.h"

#include "sim/collective/collective_player.h"
#include "sim/core/error.h"
#include "sim/core/fast_paths.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {

namespace {

using OnMessages = std::function<void(double delivered)>;

struct Played {
  Duration time{};
  PlayedParts parts{};  ///< where it tells them
};

/// On a network on which nothing is under way.
Played play_on(Network& network, const Collective* collective, const Programs& programs,
               TimePerByte reduction, bool tells_parts, const OnMessages& on_messages) {
  constexpr std::uint64_t kBatch = 1 << 20;
  const Time start = network.now();
  const std::int64_t before = network.messages_delivered();
  CollectivePlayer player(network, programs, reduction, {}, nullptr, tells_parts);
  player.start_at(start);
  while (network.engine().run(kBatch) == kBatch) {
    if (on_messages) on_messages(static_cast<double>(network.messages_delivered() - before));
  }
  player.expect_over(collective);
  return {player.end() - start, player.parts()};
}

/// The mean number of links of some of the program's messages.
double mean_links(const Program& program, const Routes& routes) {
  constexpr Rank kRanks = 64;
  constexpr std::int32_t kSteps = 16;
  double links = 0;
  double messages = 0;
  std::vector<ChannelId> path;
  for (Rank r = 0; r < program.ranks(); r += 1 + program.ranks() / kRanks) {
    const std::int32_t steps = program.steps(r);
    for (std::int32_t s = 0; s < steps; s += 1 + steps / kSteps) {
      const Op op = program.op(r, s);
      for (const Side& side : {op.send, op.recv}) {
        if (side.count == 0) continue;
        path.clear();
        routes.route(r, side.peer(side.count / 2), path);
        links += static_cast<double>(path.size());
        ++messages;
      }
    }
  }
  return messages > 0 ? links / messages : 0;
}

}  // namespace

Duration played_time(const Programs& programs, const Routes& routes, TimePerByte reduction,
                     const MessageOptions& options, const Collective* collective) {
  Engine engine;
  Network network(engine, routes, options);
  return play_on(network, collective, programs, reduction, false, nullptr).time;
}

double play_cost(const Programs& programs, const Routes& routes) {
  double cost = 0;
  for (const auto& program : programs)
    cost += program->messages() * std::max(1.0, mean_links(*program, routes) / 2);
  return cost;
}

namespace {

Duration checked_times(Duration d, std::int64_t count) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(d.count(), count, &product))
    return from_seconds(to_seconds(d) * static_cast<double>(count));  // which throws
  return Duration(product);
}

}  // namespace

std::optional<Duration> symmetric_time(const Programs& programs, const Machine& machine,
                                       TimePerByte reduction, const MessageOptions& options) {
  const auto parts = symmetric_parts(programs, machine, reduction, options);
  return parts ? std::optional(parts->whole()) : std::nullopt;
}

std::optional<PlayedParts> symmetric_parts(const Programs& programs, const Machine& machine,
                                           TimePerByte reduction, const MessageOptions& options) {
  // Larger messages must not be faster: then the largest one decides how long a step is.
  if (programs.size() != 1 || options.store_and_forward ||
      options.rendezvous_overhead < options.eager_overhead) {
    return std::nullopt;
  }
  const auto rounds = programs.front()->rounds();
  if (!rounds) return std::nullopt;
  PlayedParts parts;
  Duration sum{};  // which is checked, and longer than each of its parts
  for (const Round& round : *rounds) {
    if (round.count == 0) continue;
    const auto link = machine.uniform(round.where);
    if (!link) return std::nullopt;
    const Duration overhead = round.message <= options.eager_limit.count
                                  ? options.eager_overhead
                                  : options.rendezvous_overhead;
    const Duration transfer =
        transfer_time(static_cast<double>(round.message), link->bandwidth.bytes_per_second);
    const Duration startup = checked_add(overhead, link->latency);
    const Duration sums = reduction_time(round.reduced, reduction);
    const Duration step = checked_add(startup, checked_add(transfer, sums));
    sum = checked_add(sum, checked_times(step, round.count));
    parts.startup += round.count * startup;
    parts.transfer += round.count * transfer;
    parts.sums += round.count * sums;
  }
  return parts;
}

void expect_messages(const Collective& collective, std::string_view place) {
  if (!collective.programs({1}).empty()) return;
  throw PlacedError(fmt::format(
      "{} \"message\" needs a collective that is made of messages, such as ring; this one is "
      "known by its time only",
      place));
}

MessageTimes::MessageTimes(const Cluster& cluster, const Collective& collective, bool tells_parts)
    : cluster_(cluster), collective_(collective), machine_(cluster), tells_parts_(tells_parts) {
  expect_messages(collective, "/run/fidelity:");
}

void MessageTimes::play(std::span<const Bytes> sizes, const OnProgress& on_progress) {
  struct Open {
    std::int64_t size;
    Programs programs;
    double messages;
  };
  std::vector<Open> open;
  double messages = 0;
  double cost = 0;
  for (const Bytes size : sizes) {
    if (known_.contains(size.count)) continue;
    Programs programs = collective_.programs(size);
    const auto symmetric =
        symmetric_parts(programs, machine_, cluster_.reduction, cluster_.messages);
    if (takes(FastPath::kRoundsInStep, symmetric.has_value())) {
      spdlog::debug("{} B: every rank does the same on equal links, one stands for all",
                    size.count);
      known_[size.count] = {symmetric->whole(), *symmetric};
      continue;
    }
    known_[size.count] = {};  // what is there twice is played once
    double count = 0;
    for (const auto& program : programs)
      count += program->messages();
    spdlog::debug("{} B: {:.0f} messages are played", size.count, count);
    messages += count;
    cost += play_cost(programs, machine_);
    open.push_back({size.count, std::move(programs), count});
  }
  check_events(cost, "/run/fidelity", "messages of two links",
               "analytic fidelity plays none, and neither do equal links on one switch");
  double done = 0;
  for (const Open& each : open) {
    if (!network_) network_.emplace(engine_, machine_, cluster_.messages);
    OnMessages on_messages;
    if (on_progress) {
      on_messages = [&](double delivered) { on_progress((done + delivered) / messages); };
    }
    const Played played = play_on(*network_, &collective_, each.programs, cluster_.reduction,
                                  tells_parts_, on_messages);
    known_[each.size] = {played.time, played.parts};
    done += each.messages;
  }
}

const MessageTimes::Known& MessageTimes::known(Bytes m) {
  play({&m, 1});
  return known_.at(m.count);
}

}  // namespace steptime
