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
#include "sim/network/cluster.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace steptime {

/// When the first and the last byte of a message pass a place.
struct Passage {
  Time head{};
  Time tail{};
};

/// One end of a message: a worker's GPU, or the host of a node.
struct PortEnd {
  static constexpr std::int32_t kHost = -1;
  std::int32_t node = 0;
  std::int32_t worker = kHost;
  bool operator==(const PortEnd&) const = default;
};

/// Neighbouring workers.
struct WorkerRange {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

/// What joins two ends.
enum class Way : std::uint8_t {
  kNetwork,
  kHost,  ///< the inside of a node
  kNone   ///< an end and itself
};

class Ports {
 public:
  /// `sharing`: workers of a node that share a port to its host.
  Ports(const Cluster& cluster, std::int64_t nodes, std::int64_t sharing)
      : network_(cluster.network),
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
  Passage leave(Way way, PortEnd from, Duration transfer, Time at) {
    const Duration latency = this->latency(way);
    if (way == Way::kNone || (way == Way::kHost && from.worker < 0))
      return {at + latency, at + latency};
    Time& free = way == Way::kNetwork ? out_[static_cast<std::size_t>(from.node)]
                                      : host_out_[host_port(from)];
    const Time start = std::max(at, free);
    free = start + transfer;
    return {start + latency, free + latency};
  }

  /// Takes the receiver's port and returns when the last byte is in: the port works on what is
  /// there, so that a slow sender does not keep it from others. Calls for one port are in the order
  /// of `message.head`.
  Time enter(Way way, PortEnd to, Duration transfer, Passage message) {
    if (way == Way::kNone || (way == Way::kHost && to.worker < 0)) return message.tail;
    Time& free =
        way == Way::kNetwork ? in_[static_cast<std::size_t>(to.node)] : host_in_[host_port(to)];
    free = std::max(message.head, free) + transfer;
    return std::max(free, message.tail);
  }

  /// Takes all ports of these workers, or of their nodes to the network, in both directions for
  /// `work`, from `at` on and as soon as all of them are free; returns the end.
  Time take(Way way, WorkerRange workers, Duration work, Time at) {
    const bool network = way == Way::kNetwork;
    std::vector<Time>& out = network ? out_ : host_out_;
    std::vector<Time>& in = network ? in_ : host_in_;
    const auto port = [&](std::int64_t worker) {
      const auto node = static_cast<std::int32_t>(worker / gpus_per_node_);
      return network ? static_cast<std::size_t>(node)
                     : host_port({node, static_cast<std::int32_t>(worker)});
    };
    const std::size_t first = port(workers.first);
    const std::size_t last = port(workers.first + workers.count - 1);
    Time start = at;
    for (std::size_t p = first; p <= last; ++p)
      start = std::max({start, out[p], in[p]});
    for (std::size_t p = first; p <= last; ++p)
      out[p] = in[p] = start + work;
    return start + work;
  }

 private:
  const Link& link(Way way) const { return way == Way::kNetwork ? network_ : host_; }
  std::size_t host_port(PortEnd worker) const {
    const std::int64_t place = worker.worker % gpus_per_node_;
    return static_cast<std::size_t>(worker.node * ports_per_node_ + place / sharing_);
  }

  Link network_;
  Link host_;
  std::int64_t gpus_per_node_;
  std::int64_t sharing_;
  std::int64_t ports_per_node_;  ///< to the host
  // When each port is free again.
  std::vector<Time> out_;
  std::vector<Time> in_;
  std::vector<Time> host_out_;
  std::vector<Time> host_in_;
};

}  // namespace steptime
