// The ports that workers and parameter servers send and receive through, each a queue in the order
// of arrival: virtual cut-through, so that a message on an idle path takes latency + bytes /
// bandwidth, and N messages of M bytes into one port take latency + N M / bandwidth.
//
// Scope: analytic fidelity. A node has one full-duplex port to the network, which its workers and
// servers share; workers have ports to the inside of their node, for servers on its host or on
// another worker's GPU, one each or one for several neighbours, and none to themselves. The network
// between the ports never limits, and the collectives inside MPI clients do not use these ports.
#pragma once
#include "sim/cluster.h"
#include "sim/units.h"

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

  /// Takes the sender's port from `at` on and returns when the message reaches the receiver's.
  /// Calls for one port are in the order of `at`.
  Passage depart(PortEnd from, PortEnd to, Bytes bytes, Time at) {
    if (from.node != to.node) return pass(out(from), network_, bytes, {at, at}, network_.latency);
    if (from == to) return {at, at};
    if (from.worker < 0) return {at + host_.latency, at + host_.latency};
    return pass(host_out_[host_port(from)], host_, bytes, {at, at}, host_.latency);
  }

  /// Takes the receiver's port and returns when the last byte is in. Calls for one port are in the
  /// order of `message.head`.
  Time arrive(PortEnd from, PortEnd to, Bytes bytes, Passage message) {
    if (from.node != to.node) {
      return pass(in_[static_cast<std::size_t>(to.node)], network_, bytes, message, {}).tail;
    }
    if (to.worker < 0 || from == to) return message.tail;
    return pass(host_in_[host_port(to)], host_, bytes, message, {}).tail;
  }

  Duration latency(PortEnd from, PortEnd to) const {
    if (from == to) return {};
    return from.node != to.node ? network_.latency : host_.latency;
  }

 private:
  Time& out(PortEnd from) { return out_[static_cast<std::size_t>(from.node)]; }
  std::size_t host_port(PortEnd worker) const {
    const std::int64_t place = worker.worker % gpus_per_node_;
    return static_cast<std::size_t>(worker.node * ports_per_node_ + place / sharing_);
  }

  static Passage pass(Time& free, const Link& link, Bytes bytes, Passage message,
                      Duration latency) {
    const Duration transfer =
        from_seconds(static_cast<double>(bytes.count) / link.bandwidth.bytes_per_second);
    const Time start = std::max(message.head, free);
    free = std::max(start + transfer, message.tail);
    return {start + latency, free + latency};
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
