// The ports that workers and parameter servers send and receive through, each a queue in the order
// of arrival: virtual cut-through, so that a message on an idle path takes latency + bytes /
// bandwidth, and N messages of M bytes into one port take latency + N M / bandwidth.
//
// Scope: analytic fidelity. A node has one full-duplex port to the network, which its workers and
// servers share; workers have ports to the inside of their node, for servers on its host or on
// another worker's GPU, one each or one for several neighbours, and none to themselves. The network
// between the ports never limits. A collective takes the ports of all its workers at once.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/network/cluster.h"
#include "sim/servers/node_ports.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steptime {

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

/// Neighbouring workers.
struct WorkerRange {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

class Ports {
 public:
  /// `sharing`: workers of a node that share a port to its host. `engine` must outlive the ports.
  Ports(Engine& engine, const Cluster& cluster, std::int64_t nodes, std::int64_t sharing)
      : engine_(engine),
        transfers_{engine.reason("push or pull", "ports between nodes"),
                   engine.reason("push or pull", "ports inside nodes")},
        latencies_{engine.reason("latency of a push or pull", "network between nodes"),
                   engine.reason("latency of a push or pull", "links inside nodes")},
        arrivals_{engine.reason({{latencies_[0], cluster.network.latency}, {}, transfers_[0]}),
                  engine.reason({{latencies_[1], cluster.intra_node.latency}, {}, transfers_[1]})},
        network_(cluster.network),
        host_(cluster.intra_node),
        gpus_per_node_(cluster.gpus_per_node),
        sharing_(sharing),
        ports_per_node_((cluster.gpus_per_node + sharing - 1) / sharing),
        out_(static_cast<std::size_t>(nodes)),
        in_(static_cast<std::size_t>(nodes)),
        host_out_(static_cast<std::size_t>(cluster.nodes * ports_per_node_)),
        host_in_(static_cast<std::size_t>(cluster.nodes * ports_per_node_)) {}

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
  Passage leave(Way way, PortEnd from, Duration transfer, When at) {
    const Duration latency = this->latency(way);
    if (way == Way::kNone || (way == Way::kHost && from.worker < 0))
      return {at, at.time + latency, at.time + latency};
    When& free = way == Way::kNetwork ? out_[static_cast<std::size_t>(from.node)]
                                      : host_out_[host_port(from)];
    const bool waits = free.time > at.time;
    const When start = waits ? free : at;
    free = waits ? engine_.lengthen(free, transfer, because_of_transfer(way))
                 : engine_.until(at, transfer, because_of_transfer(way));
    return {start, start.time + latency, start.time + latency + transfer};
  }
  When head(Way way, const Passage& message) {
    return engine_.until(message.start, message.head, arrivals_[index(way)]);
  }
  /// That the other bytes come behind the first one makes its cause longer.
  Arrival arrival(Way way, const Passage& message) {
    const When head = this->head(way, message);
    return {head, go_on(way, head, message.tail)};
  }

  /// Takes the receiver's port and returns when the last byte is in: the port works on what is
  /// there, so that a slow sender does not keep it from others. Calls for one port are in the order
  /// of `message.head`.
  When enter(Way way, PortEnd to, Duration transfer, const Arrival& message) {
    if (way == Way::kNone || (way == Way::kHost && to.worker < 0)) return message.tail;
    When& free =
        way == Way::kNetwork ? in_[static_cast<std::size_t>(to.node)] : host_in_[host_port(to)];
    const Time end = std::max(message.head.time, free.time) + transfer;
    if (!engine_.keeps_causes()) {
      free = When(end);
      return When(std::max(end, message.tail.time));
    }
    // What freed the port in the past is no matter now.
    const bool waits = free.time > message.head.time && free.time >= engine_.now();
    free = go_on(way, waits ? free : message.head, end);
    return message.tail.time > end ? message.tail : free;
  }

  /// Takes all ports of these workers, or of their nodes to the network, in both directions for
  /// `work`, which has a reason, from `at` on and as soon as all of them are free; returns the end.
  When take(Way way, WorkerRange workers, Duration work, When at, Reason reason) {
    const bool network = way == Way::kNetwork;
    std::vector<When>& out = network ? out_ : host_out_;
    std::vector<When>& in = network ? in_ : host_in_;
    const auto port = [&](std::int64_t worker) {
      const auto node = static_cast<std::int32_t>(worker / gpus_per_node_);
      return network ? static_cast<std::size_t>(node)
                     : host_port({node, static_cast<std::int32_t>(worker)});
    };
    const std::size_t first = port(workers.first);
    const std::size_t last = port(workers.first + workers.count - 1);
    When start = at;
    for (std::size_t p = first; p <= last; ++p)
      start = later(start, later(out[p], in[p]));
    const When end = engine_.until(start, work, reason);
    for (std::size_t p = first; p <= last; ++p)
      out[p] = in[p] = end;
    return end;
  }

 private:
  static std::size_t index(Way way) { return way == Way::kNetwork ? 0 : 1; }
  Reason because_of_transfer(Way way) const { return transfers_[index(way)]; }
  const Link& link(Way way) const { return way == Way::kNetwork ? network_ : host_; }
  /// More bytes come from `since` to `end`.
  When go_on(Way way, When since, Time end) {
    const Reason arrival = arrivals_[index(way)];
    return engine_.lengthen(since, end,
                            Causes::lasts(since, arrival) ? arrival : because_of_transfer(way));
  }
  std::size_t host_port(PortEnd worker) const {
    const std::int64_t place = worker.worker % gpus_per_node_;
    return static_cast<std::size_t>(worker.node * ports_per_node_ + place / sharing_);
  }

  Engine& engine_;
  std::array<Reason, 2> transfers_;  ///< over the network, and inside nodes
  std::array<Reason, 2> latencies_;
  std::array<Reason, 2> arrivals_;  ///< latency, and then the transfer
  Link network_;
  Link host_;
  std::int64_t gpus_per_node_;
  std::int64_t sharing_;
  std::int64_t ports_per_node_;  ///< to the host
  // When each port is free again.
  std::vector<When> out_;
  std::vector<When> in_;
  std::vector<When> host_out_;
  std::vector<When> host_in_;
};

}  // namespace steptime
