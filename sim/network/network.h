// Messages between endpoints over shared channels. A message of M bytes occupies every channel of
// its route for M / rate and is delivered the route's latency later, so that an idle route costs
// alpha + M / B. Messages that meet on a channel share it max-min fairly; on a FIFO channel they
// take turns.
//
// A network is a resource and has no clock: its small events are a lane of the engine, and shares
// are solved once an instant, when all of it has happened. Times are integer picoseconds, rates are
// doubles, and the end of a transfer is rounded once.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/network/max_min.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace steptime {

using Endpoint = std::int32_t;
using ChannelId = std::uint32_t;

/// One direction of a link.
struct Channel {
  Bandwidth bandwidth{};
  Duration latency{};
  bool fifo = false;  ///< one message at a time, in order of arrival; else a fair share for each
};

/// Which channels a message takes. Immutable while messages are under way.
class Routes {
 public:
  virtual ~Routes() = default;
  virtual std::vector<Channel> channels() const = 0;
  virtual Endpoint endpoints() const = 0;
  /// Appends the channels from one endpoint to another in order; none when they are the same.
  virtual void route(Endpoint from, Endpoint to, std::vector<ChannelId>& path) const = 0;
};

struct MessageOptions {
  bool store_and_forward = false;  ///< a message is whole at each hop before it goes on
  /// Added to the latency of messages up to the limit (eager) and beyond it (rendezvous).
  Bytes eager_limit{};
  Duration eager_overhead{};
  Duration rendezvous_overhead{};
};

struct Message;

/// Told about the messages that it sent and the devices that it occupied.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual void delivered(const Message& message) = 0;
  virtual void device_done(std::int32_t) {}
};

struct Message {
  MessageSink* sink = nullptr;
  Endpoint from = 0;
  Endpoint to = 0;
  std::int64_t bytes = 0;
  std::int32_t sender = 0;  ///< the sink's own names for the two ends
  std::int32_t receiver = 0;
};

class Network final : public Lane {
 public:
  /// Both must outlive the network.
  Network(Engine& engine, const Routes& routes, MessageOptions options = {});

  /// Starts a message now. Its sink hears of the delivery from the engine, never from send().
  void send(const Message& message);
  /// Work that keeps several channels busy at once: what an analytic collective is. `share`: of the
  /// channel's time; the largest is 1. It is fair to messages by its bytes on the first channel
  /// with that share, whatever the unit of the caller.
  struct Load {
    ChannelId channel;
    double share = 1;
    double weight = 1;  ///< bytes for each byte on that first channel; start() finds it
  };
  using Loads = std::vector<Load>;
  /// `work`: how long it takes with nothing else there. The sink hears of `message` when it is
  /// over, without latency. `loads` must outlive the flow.
  void start(Loads& loads, Duration work, const Message& message);
  /// From now on the channel carries `rate`, B/s, also of what is under way: bytes that are left
  /// go on at that. Work of a flow that starts is told at the rates that its channels have then.
  void set_rate(ChannelId channel, double rate);
  double rate(ChannelId channel) const { return states_[channel].rate; }
  /// Occupies the endpoint's device, which does one thing at a time, for `length`; calls
  /// sink.device_done(who) at the end of it.
  void occupy_device(Endpoint endpoint, Duration length, MessageSink& sink, std::int32_t who);

  /// What the message that is being delivered would have taken with nothing else on its way. For
  /// its sink, before this sends anything.
  struct Alone {
    Duration latency{};
    Duration transfer{};
  };
  Alone alone() const;

  std::int64_t messages_delivered() const { return delivered_; }
  /// Bytes that have been sent over the channel.
  std::int64_t carried(ChannelId channel) const { return states_[channel].carried; }
  /// The earliest instant from which on some channel has been shared without a pause, whose shares
  /// carry the roundings of all that time; Time::max() where none is shared.
  Time shared_since() const;
  /// The rates that now add up on the channel, B/s. For checks.
  double load(ChannelId channel) const;

 private:
  enum class What : std::uint32_t { kDeliver, kDrain, kRelease, kDevice };
  using FlowId = std::uint32_t;
  static constexpr FlowId kNone = ~FlowId{0};
  static constexpr Time kNever = Time::max();

  /// While a channel has one user, `busy_until` and `user` are all there is to know; flows that
  /// share are in the channel's Sharing instead.
  struct State {
    double rate = 0;  ///< B/s
    Duration latency{};
    Time busy_until{};
    std::int64_t carried = 0;
    FlowId user = kNone;
    std::uint32_t sharers = 0;
    std::uint32_t sharing = kNone;  ///< into sharing_, once it has been shared or waited for
    bool fifo = false;
  };
  /// When a flow has all its bytes: when its bottleneck has served `target` to each of its flows.
  struct Finish {
    double target;  ///< bytes
    std::uint32_t order;
    FlowId flow;
    bool operator<(const Finish& other) const {  // std heaps keep the greatest in front
      return target != other.target ? target > other.target : order > other.order;
    }
  };
  /// Of a channel that has been shared. All flows whose bottleneck it is get the same, so that what
  /// it has served to each of them since it had the first says how far all of them are, and only
  /// the end of the next one is an event.
  struct Sharing {
    ChannelId channel = 0;
    std::vector<FlowId> waiting;   ///< for a FIFO channel, in order of arrival
    std::vector<Finish> finishes;  ///< a heap; some are of flows that are not here any more
    double served = 0;             ///< bytes at `updated`
    Time since{};                  ///< when that was 0
    Time updated{};
    double rate = 0;  ///< B/s
    std::uint32_t next_order = 0;
    Time event = kNever;  ///< the next one, no later than the end of the next flow
  };
  struct Flow {
    Message message;
    Time start{};
    Time drained{};                ///< when it leaves its channels, if nothing else comes
    double rate = 0;               ///< the rate of its slowest channel, B/s
    std::uint32_t generation = 0;  ///< events of an earlier one are void
    std::uint32_t hop = 0;         ///< for store-and-forward
    const Loads* loads = nullptr;  ///< what a flow that is no message loads; null: it is a message
    Duration work{};               ///< how long such a flow takes with its channels to itself
  };
  /// What only a flow that shares needs.
  struct Share {
    std::uint32_t sharing = kNone;  ///< the bottleneck's place; kNone before the flow has a rate
    std::uint32_t order = 0;        ///< the number of its Finish there, as that list orders them
    /// Where that Finish lies, B a flow; without a rate, bytes of the message that are left.
    double bytes = 0;
  };

  std::uint32_t sharing_of(ChannelId channel);
  Sharing& sharing(ChannelId channel) { return sharing_[sharing_of(channel)]; }
  double served(const Sharing& sharing) const {
    return sharing.served + sharing.rate * to_seconds(now() - sharing.updated);
  }
  FlowId take_flow();
  void free_flow(FlowId id);
  double weight(const Flow& flow, std::size_t hop) const {
    return flow.loads == nullptr ? 1 : (*flow.loads)[hop].weight;
  }
  void find_path(const Flow& flow, std::vector<ChannelId>& path) const;
  void begin(FlowId id, bool from_queue);
  bool waits(FlowId id, std::span<const ChannelId> path, bool from_queue);
  void share(FlowId id, std::span<const ChannelId> path);
  void convert(FlowId id);
  void join(FlowId id, std::span<const ChannelId> path, double bytes);
  void release(ChannelId channel);
  void settle_anew() {
    if (std::exchange(is_settled_, false)) settle_later();
  }
  bool is_there(const Finish& finish, std::uint32_t index) const;
  bool has_flows(std::uint32_t index);
  Time next_end(std::uint32_t index);
  void schedule_end(std::uint32_t index);
  Duration overhead(const Message& message) const;
  Duration path_latency(std::span<const ChannelId> path) const;
  bool is_busy(ChannelId c) const {
    return states_[c].busy_until > now() || states_[c].sharers > 0;
  }
  void push(Time time, std::uint32_t index, What what, std::uint32_t generation) {
    add(time, {index, static_cast<std::uint32_t>(what) | generation << 2});
  }
  void deliver(FlowId id);
  bool end_flows(std::uint32_t index);
  void drain(FlowId id);
  void expect_range() const;
  bool ran(Item item) override;
  void settle() override;

  const Routes& routes_;
  const MessageOptions options_;
  bool has_overhead_ = false;
  bool has_fifo_ = false;
  std::vector<State> states_;
  std::vector<Sharing> sharing_;  ///< only for channels that need it: most never do
  std::vector<Flow> flows_;
  std::vector<Share> shares_;  ///< by flow
  std::vector<FlowId> free_;
  std::vector<Time> device_free_;
  std::vector<ChannelId> path_;
  std::vector<ChannelId> shared_path_;
  std::vector<std::uint32_t> solver_path_;
  std::vector<double> weights_;
  std::int64_t delivered_ = 0;
  FlowId in_delivery_ = kNone;
  MaxMin solver_;  ///< its channels are those of sharing_, its flows have our numbers
  bool is_settled_ = true;
};

/// How long `bytes` at `bytes_per_second` take, to the nearest picosecond. Throws InputError beyond
/// what can be simulated.
Duration transfer_time(double bytes, double bytes_per_second);

}  // namespace steptime
