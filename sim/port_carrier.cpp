#include "sim/port_carrier.h"

#include <algorithm>

namespace steptime {
namespace {

std::int64_t nodes(const TrainingPlan& plan) {
  const ServerGroup& servers = plan.aggregation.servers;
  const bool own = servers.placement == ServerGroup::Placement::kOwnNodes;
  return plan.cluster.nodes + (own ? servers.count : 0);
}

}  // namespace

PortCarrier::PortCarrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user)
    : plan_(plan),
      engine_(engine),
      user_(user),
      members_(plan.members()),
      ports_(plan.cluster, nodes(plan), plan.aggregation.servers.workers_per_host_link),
      broadcast_free_(static_cast<std::size_t>(plan.aggregation.clients)) {}

PortEnd PortCarrier::client_end(std::int32_t client) const {
  const std::int64_t rank_0 = client * members_;
  return {static_cast<std::int32_t>(rank_0 / plan_.cluster.gpus_per_node),
          static_cast<std::int32_t>(rank_0)};
}

PortEnd PortCarrier::server_end(std::int32_t server) const {
  const auto nodes = static_cast<std::int32_t>(plan_.cluster.nodes);
  switch (plan_.aggregation.servers.placement) {
    case ServerGroup::Placement::kOwnNodes:
      return {nodes + server, PortEnd::kHost};
    case ServerGroup::Placement::kWithWorkers:
      return {server % nodes, PortEnd::kHost};
    case ServerGroup::Placement::kOnGpus:
      break;
  }
  const std::int64_t gpu = server % plan_.cluster.workers();
  return {static_cast<std::int32_t>(gpu / plan_.cluster.gpus_per_node),
          static_cast<std::int32_t>(gpu)};
}

PortCarrier::Ends PortCarrier::ends_of(const Parcel& parcel) const {
  const PortEnd client = client_end(parcel.client);
  const PortEnd server = server_end(parcel.server);
  return parcel.is_push ? Ends{client, server} : Ends{server, client};
}

void PortCarrier::send(const Parcel& parcel, Time at) {
  const bool shares_port = plan_.aggregation.servers.placement != ServerGroup::Placement::kOwnNodes;
  if (shares_port && at > engine_.now()) {  // others use the port until then
    engine_.at(at, Phase::kNormal, [this, parcel] { send(parcel, engine_.now()); });
    return;
  }
  const Ends ends = ends_of(parcel);
  const Passage message = ports_.depart(ends.from, ends.to, parcel.bytes, at);
  engine_.at(message.head, Phase::kNormal, [this, parcel, tail = message.tail] {
    const auto [from, to] = ends_of(parcel);
    user_.arrived(parcel, ports_.arrive(from, to, parcel.bytes, {engine_.now(), tail}));
  });
}

Duration PortCarrier::latency(std::int32_t client, std::int32_t server) {
  return ports_.latency(client_end(client), server_end(server));
}

void PortCarrier::all_reduce(std::int32_t client, std::size_t bucket, Time start) {
  engine_.at(start + plan_.step.buckets[bucket].cost, Phase::kComplete,
             [this, client] { user_.reduced(client); });
}

void PortCarrier::broadcast(std::int32_t client, std::size_t bucket, Time start) {
  Time& free = broadcast_free_[static_cast<std::size_t>(client)];
  free = std::max(start, free) + plan_.broadcasts[bucket];
  user_.spread(client, bucket, free);
}

}  // namespace steptime
