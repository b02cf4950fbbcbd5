#include "sim/network/network.h"

#include "sim/core/error.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

// ps. A time, a transfer and the latencies of a route add up to less than the range of simulated
// time, 9.2e18 ps, so that no event time can overflow.
constexpr double kMostTransfer = 2e18;
constexpr Duration kMostTime{4'000'000'000'000'000'000};
constexpr Duration kMostLatency{100'000'000'000'000'000};

}  // namespace

Duration transfer_time(double bytes, double bytes_per_second) {
  const double ps = bytes / bytes_per_second * 1e12;
  if (!(ps < kMostTransfer)) {
    throw RangeError(fmt::format("a transfer of {} B at {} B/s takes longer than can be simulated",
                                 bytes, bytes_per_second));
  }
  return Duration(static_cast<std::int64_t>(ps + 0.5));
}

Network::Network(Engine& engine, const Routes& routes, MessageOptions options)
    : Lane(engine),
      routes_(routes),
      options_(options),
      has_overhead_(options.eager_overhead != Duration{} ||
                    options.rendezvous_overhead != Duration{}),
      device_free_(static_cast<std::size_t>(routes.endpoints())) {
  const std::vector<Channel> channels = routes.channels();
  STEPTIME_CHECK(channels.size() >> kIndexBits == 0, "a network has too many channels");
  states_.resize(channels.size());
  for (std::size_t c = 0; c < states_.size(); ++c) {
    const Channel& channel = channels[c];
    if (channel.latency + options.eager_overhead > kMostLatency ||
        channel.latency + options.rendezvous_overhead > kMostLatency) {
      throw RangeError(fmt::format("a message's latency of {} is longer than can be simulated",
                                   format_quantity(channel.latency)));
    }
    states_[c].rate = channel.bandwidth.bytes_per_second;
    states_[c].latency = channel.latency;
    states_[c].fifo = channel.fifo;
    has_fifo_ = has_fifo_ || channel.fifo;
  }
}

Network::Sharing& Network::sharing(ChannelId channel) {
  State& state = states_[channel];
  if (state.sharing == kNone) {
    state.sharing = static_cast<std::uint32_t>(sharing_.size());
    sharing_.emplace_back();
  }
  return sharing_[state.sharing];
}

Network::FlowId Network::take_flow() {
  if (free_.empty()) {
    STEPTIME_CHECK(flows_.size() >> kIndexBits == 0, "too many messages are under way");
    flows_.emplace_back();
    shares_.emplace_back();
    return static_cast<FlowId>(flows_.size() - 1);
  }
  const FlowId id = free_.back();
  free_.pop_back();
  return id;
}

void Network::free_flow(FlowId id) {
  ++flows_[id].generation;
  free_.push_back(id);
}

void Network::find_path(const Flow& flow, std::vector<ChannelId>& path) const {
  path.clear();
  routes_.route(flow.message.from, flow.message.to, path);
  if (options_.store_and_forward && path.size() > 1) path = {path[flow.hop]};
}

Duration Network::overhead(const Flow& flow) const {
  if (!has_overhead_ || flow.hop > 0) return {};
  return flow.message.bytes <= options_.eager_limit.count ? options_.eager_overhead
                                                          : options_.rendezvous_overhead;
}

Duration Network::path_latency(std::span<const ChannelId> path) const {
  Duration latency{};
  for (const ChannelId c : path)
    latency += states_[c].latency;
  return latency;
}

void Network::send(const Message& message) {
  expect_range();
  const FlowId id = take_flow();
  Flow& flow = flows_[id];
  flow.message = message;
  flow.hop = 0;
  begin(id, false);
}

void Network::begin(FlowId id, bool from_queue) {
  Flow& flow = flows_[id];
  find_path(flow, path_);
  if (has_fifo_ && waits(id, path_, from_queue)) return;
  flow.start = now();
  double rate = std::numeric_limits<double>::infinity();
  Duration latency = overhead(flow);
  Time free{};
  std::uint32_t sharers = 0;
  for (const ChannelId c : path_) {
    State& state = states_[c];
    state.carried += flow.message.bytes;
    rate = std::min(rate, state.rate);
    latency += state.latency;
    free = std::max(free, state.busy_until);
    sharers += state.sharers;
  }
  if (flow.message.bytes == 0 || path_.empty()) {
    push(now() + latency, id, What::kDeliver, flow.generation);
    return;
  }
  if (free > now() || sharers > 0) {
    shares_[id].path.assign(path_.begin(), path_.end());
    share(id);
    return;
  }
  flow.rate = rate;
  flow.drained = now() + transfer_time(static_cast<double>(flow.message.bytes), rate);
  for (const ChannelId c : path_) {
    states_[c].busy_until = flow.drained;
    states_[c].user = id;
  }
  push(flow.drained + latency, id, What::kDeliver, flow.generation);
}

/// Whether the flow has to queue for a FIFO channel of its path. `from_queue`: it was the next one.
bool Network::waits(FlowId id, std::span<const ChannelId> path, bool from_queue) {
  for (const ChannelId c : path) {
    if (!states_[c].fifo) continue;
    std::vector<FlowId>& waiting = sharing(c).waiting;
    if (!is_busy(c) && (from_queue || waiting.empty())) continue;
    waiting.push_back(id);
    if (states_[c].busy_until > now()) push(states_[c].busy_until, c, What::kRelease, 0);
    return true;
  }
  return false;
}

void Network::release(ChannelId channel) {
  const auto waiting = [&]() -> std::vector<FlowId>& { return sharing(channel).waiting; };
  while (!waiting().empty() && !is_busy(channel)) {
    const FlowId next = waiting().front();
    waiting().erase(waiting().begin());
    begin(next, true);  // may add to sharing_
  }
  if (!waiting().empty() && states_[channel].busy_until > now())
    push(states_[channel].busy_until, channel, What::kRelease, 0);
}

void Network::mark(ChannelId channel) {
  if (std::exchange(sharing(channel).dirty, true)) return;
  if (dirty_.empty()) settle_later();
  dirty_.push_back(channel);
}

/// Makes the flow, and whoever is alone on one of its channels, share.
void Network::share(FlowId id) {
  flows_[id].rate = 0;
  shares_[id].remaining = static_cast<double>(flows_[id].message.bytes);
  shares_[id].updated = now();
  for (const ChannelId c : shares_[id].path) {
    if (states_[c].busy_until > now()) convert(states_[c].user);
  }
  join(id);
}

/// Makes a flow that was alone on its channels one that shares.
void Network::convert(FlowId id) {
  Flow& flow = flows_[id];
  Share& share = shares_[id];
  find_path(flow, share.path);
  share.remaining = flow.start == now() ? static_cast<double>(flow.message.bytes)
                                        : to_seconds(flow.drained - now()) * flow.rate;
  share.updated = now();
  ++flow.generation;  // its delivery is no longer certain
  flow.rate = 0;
  for (const ChannelId c : share.path)
    states_[c].busy_until = now();
  join(id);
}

void Network::join(FlowId id) {
  for (const ChannelId c : shares_[id].path) {
    sharing(c).flows.push_back(id);
    ++states_[c].sharers;
    mark(c);
  }
}

void Network::stop_sharing(FlowId id) {
  for (const ChannelId c : shares_[id].path) {
    std::vector<FlowId>& flows = sharing(c).flows;
    flows.erase(std::find(flows.begin(), flows.end(), id));
    --states_[c].sharers;
    mark(c);
  }
}

/// Everything that the dirty channels' rates depend on, in the order in which it is reached.
void Network::gather_component() {
  ++visit_;
  component_.clear();
  component_flows_.clear();
  const auto reach = [this](ChannelId c) {
    if (states_[c].sharers == 0 || sharing(c).visited == visit_) return;
    sharing(c).visited = visit_;
    component_.push_back(c);
  };
  for (const ChannelId c : dirty_) {
    sharing(c).dirty = false;
    reach(c);
  }
  dirty_.clear();
  for (std::size_t i = 0; i < component_.size(); ++i) {
    for (const FlowId id : sharing(component_[i]).flows) {
      if (shares_[id].visited == visit_) continue;
      shares_[id].visited = visit_;
      component_flows_.push_back(id);
      for (const ChannelId c : shares_[id].path)
        reach(c);
    }
  }
}

void Network::set_rate(FlowId id, double rate) {
  Flow& flow = flows_[id];
  if (rate == flow.rate) return;
  Share& share = shares_[id];
  share.remaining = std::max(0.0, share.remaining - flow.rate * to_seconds(now() - share.updated));
  share.updated = now();
  flow.rate = rate;
  ++flow.generation;
  flow.drained = now() + transfer_time(share.remaining, rate);
  push(flow.drained, id, What::kDrain, flow.generation);
}

void Network::solve() {
  gather_component();
  solver_.clear();
  for (const ChannelId c : component_)
    sharing(c).solver_index = solver_.add_channel(states_[c].rate);
  for (const FlowId id : component_flows_) {
    solver_path_.clear();
    for (const ChannelId c : shares_[id].path)
      solver_path_.push_back(sharing(c).solver_index);
    solver_.add_flow(solver_path_);
  }
  const std::span<const double> rates = solver_.solve();
  for (std::size_t i = 0; i < component_flows_.size(); ++i)
    set_rate(component_flows_[i], rates[i]);
}

void Network::occupy_device(Endpoint endpoint, Duration length, MessageSink& sink,
                            std::int32_t who) {
  Time& free = device_free_[static_cast<std::size_t>(endpoint)];
  free = std::max(free, now()) + length;
  const FlowId id = take_flow();
  flows_[id].message = {.sink = &sink, .sender = who};
  push(free, id, What::kDevice, flows_[id].generation);
}

void Network::deliver(FlowId id) {
  Flow& flow = flows_[id];
  if (options_.store_and_forward) {
    path_.clear();
    routes_.route(flow.message.from, flow.message.to, path_);
    if (++flow.hop < path_.size()) {
      ++flow.generation;
      return begin(id, false);
    }
  }
  const Message message = flow.message;
  free_flow(id);
  ++delivered_;
  message.sink->delivered(message);
}

void Network::drain(FlowId id) {
  Flow& flow = flows_[id];
  stop_sharing(id);
  ++flow.generation;
  push(now() + path_latency(shares_[id].path) + overhead(flow), id, What::kDeliver,
       flow.generation);
  if (!has_fifo_) return;
  const std::vector<ChannelId> path =
      shares_[id].path;  // a release may begin flows and move this one
  for (const ChannelId c : path)
    release(c);
}

/// The engine's range of time is wider than what all sums of times here stay in.
void Network::expect_range() const {
  if (since_start(now()) > kMostTime)
    throw RangeError("the messages take longer than can be simulated");
}

bool Network::ran(Item item) {
  expect_range();
  const auto what = static_cast<What>(item.tag & 3);
  if (what == What::kRelease) {
    release(item.index);
    return true;
  }
  if ((flows_[item.index].generation << 2) != (item.tag & ~std::uint32_t{3})) return false;
  if (what == What::kDeliver) {
    deliver(item.index);
  } else if (what == What::kDrain) {
    drain(item.index);
  } else {
    const Message done = flows_[item.index].message;
    free_flow(item.index);
    done.sink->device_done(done.sender);
  }
  return true;
}

double Network::load(ChannelId channel) const {
  if (states_[channel].busy_until > now()) return flows_[states_[channel].user].rate;
  if (states_[channel].sharers == 0) return 0;
  double sum = 0;
  for (const FlowId id : sharing_[states_[channel].sharing].flows)
    sum += flows_[id].rate;
  return sum;
}

}  // namespace steptime
