// The ports that workers and parameter servers send and receive through at analytic fidelity, each
// a queue in the order of arrival: virtual cut-through, so that a message on an idle path takes
// latency + bytes / bandwidth, and N messages of M bytes into one port take latency + N M /
// bandwidth.
//
// Scope: a node has one full-duplex port to the network, which its workers and servers share;
// workers have ports to the host of their node, one each or one for several neighbours. The network
// between the ports never limits. A collective takes the ports of all its workers at once.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/network/cluster.h"
#include "sim/runtime/mediums.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steptime {

/// One end of a message: a worker's GPU, or the host of a node.
struct PortEnd {
  static constexpr std::int32_t kHost = -1;
  std::int32_t node = 0;
  std::int32_t worker = kHost;
  bool operator==(const PortEnd&) const = default;
};

/// What joins two ends.
enum class Way : std::uint8_t {
  kNetwork,
  kHost,  ///< the inside of a node
  kNone   ///< an end and itself
};
inline constexpr std::size_t kWays = 3;

class NodePorts {
 public:
  /// When a message is on its way, as its sender knows.
  struct Passage {
    When start{};  ///< when the first byte leaves
    Time head{};   ///< when it is there, later by the latency
    Time tail{};   ///< when the last byte is, after the head because the bytes take that long
  };
  /// When the first and the last byte of a message are there.
  struct Arrival {
    When head{};
    When tail{};
  };

  /// `sharing`: workers of a node that share a port to its host. `engine` must outlive the ports.
  NodePorts(Engine& engine, const Cluster& cluster, std::int64_t nodes, std::int64_t sharing);

  static Way way(PortEnd from, PortEnd to) {
    if (from.node != to.node) return Way::kNetwork;
    return from == to ? Way::kNone : Way::kHost;
  }
  Duration latency(Way way) const { return way == Way::kNone ? Duration{} : link(way).latency; }
  Duration transfer(Way way, Bytes bytes) const {
    if (way == Way::kNone) return {};
    return from_seconds(static_cast<double>(bytes.count) / link(way).bandwidth.bytes_per_second);
  }

  /// Takes the sender's port from `at` on and returns when messages that take `transfer` together
  /// reach the receivers' ports. Calls for one port are in the order of `at`.
  Passage leave(Way way, PortEnd from, Duration transfer, When at);
  When head(Way way, const Passage& message) {
    return engine_.until(message.start, message.head, arrivals_[index(way)]);
  }
  /// That the other bytes come behind the first one makes its cause longer.
  Arrival arrival(Way way, const Passage& message) {
    const When head = this->head(way, message);
    return {head, go_on(way, head, message.tail)};
  }
  /// Of what comes with its first byte now.
  Arrival arriving(Way way, Time tail) {
    return arrival(way, {engine_.present(), engine_.now(), tail});
  }
  /// Takes the receiver's port and returns when the last byte is in: the port works on what is
  /// there, so that a slow sender does not keep it from others. Calls for one port are in the order
  /// of the heads.
  When enter(Way way, PortEnd to, Duration transfer, const Arrival& message);

  /// All ports of neighbouring workers, or of their nodes to the network, in both directions.
  class Taken final : public TakenPorts {
   public:
    Taken(NodePorts& ports, Way way, std::int64_t first_worker, std::int64_t workers);
    When take(Duration work, When at, Reason reason) override;

   private:
    NodePorts& ports_;
    bool network_;
    std::size_t first_;
    std::size_t last_;
  };

 private:
  static std::size_t index(Way way) { return way == Way::kNetwork ? 0 : 1; }
  const Link& link(Way way) const { return links_[index(way)]; }
  /// More bytes come from `since` to `end`.
  When go_on(Way way, When since, Time end) {
    const Reason arrival = arrivals_[index(way)];
    return engine_.lengthen(since, end,
                            Causes::lasts(since, arrival) ? arrival : transfers_[index(way)]);
  }
  /// In the node's own memory no port is taken.
  static bool is_free(Way way, PortEnd end) {
    return way == Way::kNone || (way == Way::kHost && end.worker < 0);
  }
  When& port(std::array<std::vector<When>, 2>& ports, Way way, PortEnd end) {
    const std::size_t place =
        way == Way::kNetwork ? static_cast<std::size_t>(end.node) : host_port(end.node, end.worker);
    return ports[index(way)][place];
  }
  std::size_t host_port(std::int64_t node, std::int64_t worker) const {
    return static_cast<std::size_t>(node * ports_per_node_ + worker % gpus_per_node_ / sharing_);
  }

  Engine& engine_;
  std::array<Reason, 2> transfers_;  ///< over the network, and inside nodes
  std::array<Reason, 2> latencies_;
  std::array<Reason, 2> arrivals_;  ///< latency, and then the transfer
  std::array<Link, 2> links_;
  std::int64_t gpus_per_node_;
  std::int64_t sharing_;
  std::int64_t ports_per_node_;  ///< to the host
  // When each port is free again: those to the network, and those inside nodes.
  std::array<std::vector<When>, 2> out_;
  std::array<std::vector<When>, 2> in_;
};

}  // namespace steptime
