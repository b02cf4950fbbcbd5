#include "sim/network/network.h"

#include "sim/core/error.h"

#include <algorithm>
#include <cmath>
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

/// A count of bytes that a channel has served is off by less than this share of it. The order of
/// events at one instant, and what the network carried before, decide which channel counts a
/// message's bytes, and in which order they are added up.
constexpr double kCountError = 0x1p-46;

}  // namespace

Duration transfer_time(double bytes, double bytes_per_second) {
  const double ps = bytes / bytes_per_second * 1e12;
  if (!(ps < kMostTransfer)) {
    throw RangeError(fmt::format("a transfer of {} B at {} B/s takes longer than can be simulated",
                                 bytes, bytes_per_second));
  }
  return Duration(static_cast<std::int64_t>(ps + 0.5));  // NOLINT(bugprone-incorrect-roundings)
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

std::uint32_t Network::sharing_of(ChannelId channel) {
  State& state = states_[channel];
  if (state.sharing == kNone) {
    state.sharing = solver_.add_channel(state.rate);
    sharing_.emplace_back().channel = channel;
  }
  return state.sharing;
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
  if (flow.loads != nullptr) [[unlikely]] {
    for (const Load& load : *flow.loads)
      path.push_back(load.channel);
    return;
  }
  routes_.route(flow.message.from, flow.message.to, path);
  if (options_.store_and_forward && path.size() > 1) path = {path[flow.hop]};
}

Duration Network::overhead(const Message& message) const {
  if (!has_overhead_) return {};
  return message.bytes <= options_.eager_limit.count ? options_.eager_overhead
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
  flow.loads = nullptr;
  begin(id, false);
}

void Network::start(Loads& loads, Duration work, const Message& message) {
  expect_range();
  const FlowId id = take_flow();
  Flow& flow = flows_[id];
  flow.message = message;
  flow.hop = 1;  // no overhead
  flow.loads = &loads;
  flow.work = work;
  const auto whole =
      std::find_if(loads.begin(), loads.end(), [](const Load& l) { return l.share == 1; });
  STEPTIME_CHECK(loads.empty() || whole != loads.end(), "work keeps no channel busy");
  const double first = loads.empty() ? 1 : states_[whole->channel].rate;
  for (Load& load : loads)
    load.weight = load.share * states_[load.channel].rate / first;
  flow.message.bytes = std::llround(to_seconds(work) * first);
  begin(id, true);
}

void Network::set_rate(ChannelId channel, double rate) {
  State& state = states_[channel];
  if (state.rate == rate) return;
  if (state.busy_until > now()) convert(state.user);
  state.rate = rate;
  if (state.sharing == kNone) return;
  solver_.set_capacity(state.sharing, rate);
  settle_anew();
}

void Network::begin(FlowId id, bool from_queue) {
  Flow& flow = flows_[id];
  find_path(flow, path_);
  if (has_fifo_ && flow.loads == nullptr && waits(id, path_, from_queue)) return;
  flow.start = now();
  double rate = std::numeric_limits<double>::infinity();
  Duration latency = flow.hop > 0 ? Duration{} : overhead(flow.message);
  Time free{};
  std::uint32_t sharers = 0;
  std::size_t hop = 0;
  for (const ChannelId c : path_) {
    State& state = states_[c];
    const double w = weight(flow, hop++);
    state.carried += w == 1
                         ? flow.message.bytes
                         : std::int64_t{std::llround(w * static_cast<double>(flow.message.bytes))};
    rate = std::min(rate, w == 1 ? state.rate : state.rate / w);
    if (flow.loads == nullptr) latency += state.latency;
    free = std::max(free, state.busy_until);
    sharers += state.sharers;
  }
  flow.rate = rate;
  if (flow.loads == nullptr ? flow.message.bytes == 0 || path_.empty() : flow.work == Duration{}) {
    flow.drained = now();
    push(time_after(now(), latency), id, What::kDeliver, flow.generation);
    return;
  }
  if (free > now() || sharers > 0) {
    return share(id, path_);
  }
  flow.drained = time_after(
      now(), flow.loads != nullptr ? flow.work
                                   : transfer_time(static_cast<double>(flow.message.bytes), rate));
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

/// Makes the flow, and whoever is alone on one of its channels, share.
void Network::share(FlowId id, std::span<const ChannelId> path) {
  for (const ChannelId c : path) {
    if (states_[c].busy_until > now()) convert(states_[c].user);
  }
  const Flow& flow = flows_[id];
  join(id, path,
       flow.loads != nullptr ? to_seconds(flow.work) * flow.rate
                             : static_cast<double>(flow.message.bytes));
}

/// Makes a flow that was alone on its channels one that shares.
void Network::convert(FlowId id) {
  Flow& flow = flows_[id];
  find_path(flow, shared_path_);
  const double left = flow.start == now() && flow.loads == nullptr
                          ? static_cast<double>(flow.message.bytes)
                          : to_seconds(flow.drained - now()) * flow.rate;
  ++flow.generation;  // its delivery is no longer certain
  for (const ChannelId c : shared_path_)
    states_[c].busy_until = now();
  join(id, shared_path_, left);
}

/// `bytes`: those that are left.
void Network::join(FlowId id, std::span<const ChannelId> path, double bytes) {
  shares_[id] = {.bytes = bytes};
  solver_path_.clear();
  for (const ChannelId c : path) {
    solver_path_.push_back(sharing_of(c));
    ++states_[c].sharers;
  }
  weights_.clear();
  if (flows_[id].loads != nullptr) {
    for (const Load& load : *flows_[id].loads)
      weights_.push_back(load.weight);
  }
  solver_.add(id, solver_path_, weights_);
  settle_anew();
}

bool Network::is_there(const Finish& finish, std::uint32_t index) const {
  const Share& share = shares_[finish.flow];
  return share.sharing == index && share.order == finish.order;
}

/// Whether flows of the channel are under way; the next one that ends is then the first.
bool Network::has_flows(std::uint32_t index) {
  std::vector<Finish>& finishes = sharing_[index].finishes;
  while (!finishes.empty() && !is_there(finishes.front(), index)) {
    std::pop_heap(finishes.begin(), finishes.end());
    finishes.pop_back();
  }
  return !finishes.empty();
}

/// When the next flow of the channel has all its bytes; kNever when none is there. Half a
/// picosecond is rounded up, also where the count puts it just below.
Time Network::next_end(std::uint32_t index) {
  if (!has_flows(index)) return kNever;
  const Sharing& sharing = sharing_[index];
  const std::vector<Finish>& finishes = sharing.finishes;
  const double left = std::max(0.0, finishes.front().target * (1 + kCountError) - sharing.served);
  return std::max(now(), sharing.updated + transfer_time(left, sharing.rate));
}

/// An end that is later than it was is looked up again when the event for the earlier one comes.
void Network::schedule_end(std::uint32_t index) {
  const Time end = next_end(index);
  if (end >= sharing_[index].event) return;
  sharing_[index].event = end;
  push(end, index, What::kDrain, 0);
}

void Network::settle() {
  is_settled_ = true;
  solver_.solve();
  for (const FlowId id : solver_.moved()) {
    Share& share = shares_[id];
    if (share.sharing == kNone) continue;
    share.bytes = std::max(0.0, share.bytes - served(sharing_[share.sharing]));
    share.sharing = kNone;
  }
  for (const std::uint32_t index : solver_.fixed()) {
    Sharing& sharing = sharing_[index];
    const double level = solver_.level(index);
    if (level == sharing.rate) continue;
    sharing.served = served(sharing);
    sharing.updated = now();
    sharing.rate = level;
  }
  for (const FlowId id : solver_.moved()) {
    Share& share = shares_[id];
    if (share.sharing != kNone) continue;  // it is named twice
    const std::uint32_t index = solver_.bottleneck(id);
    Sharing& sharing = sharing_[index];
    if (!has_flows(index)) {  // a small count is a precise one, and knows nothing of flows before
      sharing.served = 0;
      sharing.since = sharing.updated = now();
    }
    share.sharing = index;
    share.order = sharing.next_order++;
    share.bytes += served(sharing);
    std::vector<Finish>& finishes = sharing.finishes;
    if (finishes.size() ==
        finishes.capacity()) {  // grows only when most are of flows that are there
      std::erase_if(finishes, [&](const Finish& f) { return !is_there(f, share.sharing); });
      std::make_heap(finishes.begin(), finishes.end());
      finishes.reserve(2 * finishes.size() + 1);
    }
    finishes.push_back({share.bytes, share.order, id});
    std::push_heap(finishes.begin(), finishes.end());
  }
  for (const std::uint32_t index : solver_.fixed())
    schedule_end(index);
}

void Network::occupy_device(Endpoint endpoint, Duration length, MessageSink& sink,
                            std::int32_t who) {
  Time& free = device_free_[static_cast<std::size_t>(endpoint)];
  free = std::max(free, now()) + length;
  const FlowId id = take_flow();
  flows_[id].message = {.sink = &sink, .sender = who};
  push(free, id, What::kDevice, flows_[id].generation);
}

inline void Network::deliver(FlowId id) {
  Flow& flow = flows_[id];
  if (options_.store_and_forward && flow.loads == nullptr) {
    path_.clear();
    routes_.route(flow.message.from, flow.message.to, path_);
    if (++flow.hop < path_.size()) {
      ++flow.generation;
      return begin(id, false);
    }
  }
  const Message message = flow.message;
  free_flow(id);
  in_delivery_ = id;
  ++delivered_;
  message.sink->delivered(message);
}

Network::Alone Network::alone() const {
  const Flow& flow = flows_[in_delivery_];
  const auto bytes = static_cast<double>(flow.message.bytes);
  if (!options_.store_and_forward) return {now() - flow.drained, transfer_time(bytes, flow.rate)};
  std::vector<ChannelId> path;
  routes_.route(flow.message.from, flow.message.to, path);
  Alone alone{path_latency(path) + overhead(flow.message)};
  for (const ChannelId c : path)
    alone.transfer += transfer_time(bytes, states_[c].rate);
  return alone;
}

/// Ends the flows of a channel that have all their bytes; false when none has.
bool Network::end_flows(std::uint32_t index) {
  if (sharing_[index].event != now()) return false;
  sharing_[index].event = kNever;
  bool any = false;
  for (; next_end(index) == now(); any = true) {
    std::vector<Finish>& finishes = sharing_[index].finishes;
    const FlowId id = finishes.front().flow;
    std::pop_heap(finishes.begin(), finishes.end());
    finishes.pop_back();
    drain(id);
  }
  if (!any) schedule_end(index);
  return any;
}

void Network::drain(FlowId id) {
  Flow& flow = flows_[id];
  flow.drained = now();
  Duration latency = flow.hop > 0 ? Duration{} : overhead(flow.message);
  shared_path_.clear();
  for (std::uint32_t hop = 0; hop < solver_.channels(id); ++hop) {
    const ChannelId c = sharing_[solver_.channel(id, hop)].channel;
    --states_[c].sharers;
    if (flow.loads == nullptr) latency += states_[c].latency;
    if (has_fifo_) shared_path_.push_back(c);
  }
  shares_[id].sharing = kNone;
  solver_.remove(id);
  settle_anew();
  ++flow.generation;
  push(time_after(now(), latency), id, What::kDeliver, flow.generation);
  if (!has_fifo_) return;
  const std::vector<ChannelId> path = shared_path_;  // a release may begin other flows
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
  if (what == What::kDrain) return end_flows(item.index);
  if (what == What::kRelease) {
    release(item.index);
    return true;
  }
  if (flows_[item.index].generation << 2 != (item.tag & ~std::uint32_t{3})) return false;
  if (what == What::kDeliver) {
    deliver(item.index);
  } else {
    const Message done = flows_[item.index].message;
    free_flow(item.index);
    done.sink->device_done(done.sender);
  }
  return true;
}

Time Network::shared_since() const {
  Time since = Time::max();
  for (const Sharing& sharing : sharing_) {
    if (!sharing.finishes.empty()) since = std::min(since, sharing.since);
  }
  return since;
}

double Network::load(ChannelId channel) const {
  if (states_[channel].busy_until > now()) return flows_[states_[channel].user].rate;
  if (states_[channel].sharers == 0) return 0;
  return solver_.load(states_[channel].sharing);
}

}  // namespace steptime
