#include "sim/experiment/prediction.h"

#include "sim/experiment/runs/execution.h"
#include "sim/servers/tcp_connections.h"

#include <algorithm>
#include <utility>

namespace steptime {
namespace {

/// The longest of those that a message may meet, s. That inside
/// the nodes counts even where a library's estimates have their own in its place.
double latency_s(const Cluster& cluster) {
  const double inside = to_seconds(cluster.intra_node.latency);
  const double between = to_seconds(cluster.network.latency);
  if (cluster.nodes == 1) return inside;
  return cluster.gpus_per_node == 1 ? between : std::max(inside, between);
}

/// What the busier ports of servers and their clients take for pushes or for pulls.
double server_ports_s(const Experiment& e) {
  Bytes all;
  for (const GradientUnit& unit : e.workload->units(e.schedule->granularity()))
    all += unit.bytes;
  const Aggregation& a = *e.aggregation;
  const auto clients = static_cast<double>(a.clients);
  const double per_port = std::max(1.0, clients / static_cast<double>(a.servers.count));
  return per_port * static_cast<double>(all.count) / network_port(*e.cluster, a).bytes_per_second;
}

}  // namespace

Prediction prediction_of(const Experiment& e, const Result& r, std::vector<std::string> beyond) {
  // What was put together part by part may name none of these.
  const auto or_none = [](const auto& part) { return part ? *part : KindOfStep(); };
  Prediction prediction{
      .kind = joined(or_none(e.workload_kind), or_none(e.exchange_kind), e.schedule_word),
      .workers = e.cluster->workers(),
      .gpus_per_node = e.cluster->gpus_per_node,
      .samples = e.workload->workload.trace.batch,
      .latency_s = latency_s(*e.cluster),
      .has_servers = e.aggregation->servers.count > 0,
      .step_s = r.step_time_s - r.exposed_input_s.value_or(0),
      .compute_s = r.compute_time_s,
      .comm_busy_s = r.comm_busy_s,
      .modelled = e.workload->workload.trace.modelled,
      .beyond = std::move(beyond)};
  if (e.cluster->nodes > 1 && e.cluster->kind) {
    const NetworkKind::Known known = e.cluster->kind->known();
    prediction.slowest_rate = known.slowest;
    prediction.fastest_rate = known.fastest;
    if (prediction.has_servers)
      prediction.comm_busy_s = std::max(prediction.comm_busy_s, server_ports_s(e));
  }
  if (e.execution != nullptr) e.execution->tell(prediction);
  return prediction;
}

Interval with_median(Interval interval, const Result& result) {
  if (!result.step_percentiles) return interval;
  const double median = result.step_percentiles->p50;
  return {std::min(interval.low, median), std::max(interval.high, median)};
}

}  // namespace steptime
