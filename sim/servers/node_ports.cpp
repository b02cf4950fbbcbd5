#include "sim/servers/node_ports.h"

#include <algorithm>

namespace steptime {

NodePorts::NodePorts(Engine& engine, const Cluster& cluster, std::int64_t nodes,
                     std::int64_t sharing)
    : engine_(engine),
      transfers_{engine.reason("push or pull", "ports between nodes"),
                 engine.reason("push or pull", "ports inside nodes")},
      latencies_{engine.reason("latency of a push or pull", "network between nodes"),
                 engine.reason("latency of a push or pull", "links inside nodes")},
      arrivals_{engine.reason({{latencies_[0], cluster.network.latency}, {}, transfers_[0]}),
                engine.reason({{latencies_[1], cluster.intra_node.latency}, {}, transfers_[1]})},
      links_{cluster.network, cluster.intra_node},
      gpus_per_node_(cluster.gpus_per_node),
      sharing_(sharing),
      ports_per_node_((cluster.gpus_per_node + sharing - 1) / sharing) {
  for (auto* direction : {&out_, &in_}) {
    (*direction)[0].resize(static_cast<std::size_t>(nodes));
    (*direction)[1].resize(static_cast<std::size_t>(cluster.nodes * ports_per_node_));
  }
}

NodePorts::Passage NodePorts::leave(Way way, PortEnd from, Duration transfer, When at) {
  const Duration latency = this->latency(way);
  if (is_free(way, from)) {
    const Time there = time_after(at.time, latency);
    return {at, there, there};
  }
  When& free = port(out_, way, from);
  const bool waits = free.time > at.time;
  const When start = waits ? free : at;
  const Reason reason = transfers_[index(way)];
  free = waits ? engine_.lengthen(free, transfer, reason) : engine_.until(at, transfer, reason);
  const Time head = time_after(start.time, latency);
  return {start, head, time_after(head, transfer)};
}

When NodePorts::enter(Way way, PortEnd to, Duration transfer, const Arrival& message) {
  if (is_free(way, to)) return message.tail;
  When& free = port(in_, way, to);
  const Time end = time_after(std::max(message.head.time, free.time), transfer);
  if (!engine_.keeps_causes()) {
    free = When(end);
    return When(std::max(end, message.tail.time));
  }
  // What freed the port in the past is no matter now.
  const bool waits = free.time > message.head.time && free.time >= engine_.now();
  free = go_on(way, waits ? free : message.head, end);
  return message.tail.time > end ? message.tail : free;
}

NodePorts::Taken::Taken(NodePorts& ports, Way way, std::int64_t first_worker, std::int64_t workers)
    : ports_(ports), network_(way == Way::kNetwork) {
  const auto port = [&](std::int64_t worker) {
    const std::int64_t node = worker / ports.gpus_per_node_;
    return network_ ? static_cast<std::size_t>(node) : ports.host_port(node, worker);
  };
  first_ = port(first_worker);
  last_ = port(first_worker + workers - 1);
}

When NodePorts::Taken::take(Duration work, When at, Reason reason) {
  std::vector<When>& out = ports_.out_[network_ ? 0 : 1];
  std::vector<When>& in = ports_.in_[network_ ? 0 : 1];
  When start = at;
  for (std::size_t p = first_; p <= last_; ++p)
    start = later(start, later(out[p], in[p]));
  const When end = ports_.engine_.until(start, work, reason);
  for (std::size_t p = first_; p <= last_; ++p)
    out[p] = in[p] = end;
  return end;
}

}  // namespace steptime
