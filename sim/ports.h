// The ports that workers and parameter servers send and receive through, each a queue in the order
// of arrival: virtual cut-through, so that a message on an idle path takes latency + bytes /
// bandwidth, and N messages of M bytes into one port take latency + N M / bandwidth.
//
// Scope: analytic fidelity. A node has one full-duplex port to the network, which its workers and
// servers share; a worker has one to the inside of its node, for servers on the node's host or on
// another worker's GPU, and none to itself. The network between
// the ports never limits, and the collectives inside MPI clients do not use these ports.
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
  Ports(const Cluster& cluster, std::int64_t nodes)
      : network_(cluster.network),
        host_(cluster.intra_node),
        out_(static_cast<std::size_t>(nodes)),
        in_(static_cast<std::size_t>(nodes)),
        host_out_(static_cast<std::size_t>(cluster.workers())),
        host_in_(static_cast<std::size_t>(cluster.workers())) {}

  /// Takes the sender's port from `at` on and returns when the message reaches the receiver's.
  /// Calls for one port are in the order of `at`.
  Passage depart(PortEnd from, PortEnd to, Bytes bytes, Time at) {
    if (from.node != to.node) return pass(out(from), network_, bytes, {at, at}, network_.latency);
    if (from == to) return {at, at};
    if (from.worker < 0) return {at + host_.latency, at + host_.latency};
    return pass(host_out_[static_cast<std::size_t>(from.worker)], host_, bytes, {at, at},
                host_.latency);
  }

  /// Takes the receiver's port and returns when the last byte is in. Calls for one port are in the
  /// order of `message.head`.
  Time arrive(PortEnd from, PortEnd to, Bytes bytes, Passage message) {
    if (from.node != to.node) {
      return pass(in_[static_cast<std::size_t>(to.node)], network_, bytes, message, {}).tail;
    }
    if (to.worker < 0 || from == to) return message.tail;
    return pass(host_in_[static_cast<std::size_t>(to.worker)], host_, bytes, message, {}).tail;
  }

  Duration latency(PortEnd from, PortEnd to) const {
    if (from == to) return {};
    return from.node != to.node ? network_.latency : host_.latency;
  }

 private:
  Time& out(PortEnd from) { return out_[static_cast<std::size_t>(from.node)]; }

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
  // When each port is free again.
  std::vector<Time> out_;
  std::vector<Time> in_;
  std::vector<Time> host_out_;
  std::vector<Time> host_in_;
};

}  // namespace steptime
