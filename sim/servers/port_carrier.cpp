#include "sim/servers/port_carrier.h"

#include <algorithm>
#include <utility>

namespace steptime {
namespace {

std::int64_t nodes(const TrainingPlan& plan) {
  const Aggregation& aggregation = plan.aggregation;
  const ServerGroup& servers =
      aggregation.beyond ? aggregation.beyond->servers : aggregation.servers;
  const bool own = servers.placement == ServerGroup::Placement::kOwnNodes;
  return plan.cluster.nodes + (own ? servers.count : 0);
}

}  // namespace

PortCarrier::PortCarrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user,
                         bool one_by_one)
    : plan_(plan),
      engine_(engine),
      user_(user),
      members_(plan.members()),
      one_by_one_(one_by_one || plan.aggregation.beyond),
      ports_(engine, plan.cluster, nodes(plan), plan.aggregation.servers.workers_per_host_link),
      reasons_(engine),
      overlap_(engine),
      ways_(own_nodes() ? 1 : kWays) {
  for (std::int64_t client = 0; client < plan.aggregation.clients; ++client) {
    const std::int64_t rank_0 = client * members_;
    client_ends_.push_back({static_cast<std::int32_t>(rank_0 / plan.cluster.gpus_per_node),
                            static_cast<std::int32_t>(rank_0)});
  }
  const std::int64_t servers = plan.aggregation.servers.count;
  if (members_ > 1 && (plan.transport->streams > 1 || plan.aggregation.spread)) {
    const Flights::Shared with_servers{.between_nodes = servers > 0,
                                       .in_node = servers > 0 && !own_nodes()};
    for (std::int64_t client = 0; client < plan.aggregation.clients; ++client)
      flights_.emplace_back(engine, ports_, WorkerRange{client * members_, members_}, with_servers);
    broadcasts_.resize(flights_.size());
  }
  if (servers == 0) return;
  if (plan.aggregation.beyond) {
    place_levels();
    return;
  }
  for (std::int32_t server = 0; server < servers; ++server)
    server_ends_.push_back(place_server(plan.aggregation.servers, server));
  for (const auto& of_bucket : plan.pieces) {
    for (const Piece& piece : of_bucket)
      transfers_.push_back(ports_.transfer(Way::kNetwork, piece.bytes));
  }
  places_.resize(client_ends_.size() * plan.pieces.size() * ways_, kNone);
}

/// The servers of all nodes and those beyond, and the hosts, which are clients twice.
void PortCarrier::place_levels() {
  const ServerGroup& inside = plan_.aggregation.servers;
  const ServerGroup& beyond = plan_.aggregation.beyond->servers;
  const auto nodes = static_cast<std::int32_t>(plan_.cluster.nodes);
  for (std::int32_t host = 0; host < 2 * nodes; ++host)
    client_ends_.push_back({host % nodes, PortEnd::kHost});
  for (std::int32_t server = 0; server < inside.count * nodes; ++server)
    server_ends_.push_back(place_server(inside, server));
  for (std::int32_t server = 0; server < beyond.count; ++server)
    server_ends_.push_back(place_server(beyond, server));
}

PortEnd PortCarrier::place_server(const ServerGroup& servers, std::int32_t server) const {
  const auto nodes = static_cast<std::int32_t>(plan_.cluster.nodes);
  switch (servers.placement) {
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

Duration PortCarrier::transfer(Way way, const Parcel& part) const {
  return way == Way::kNetwork ? transfers_[part.slot] : ports_.transfer(way, part.bytes);
}

void PortCarrier::push(std::span<const Parcel> parts) {
  if (one_by_one_) {
    for (const Parcel& part : parts)
      carry(part);
    return;
  }
  const Parcel& first = parts.front();
  const PortEnd from = client_end(first.client);
  std::array<std::int32_t, kWays> count{};
  std::array<Duration, kWays> transfers{};
  for (const Parcel& part : parts) {
    const Way way = Ports::way(from, server_end(part.server));
    ++count[static_cast<std::size_t>(way)];
    transfers[static_cast<std::size_t>(way)] += transfer(way, part);
  }
  for (std::size_t w = 0; w < kWays; ++w) {
    if (count[w] == 0) continue;
    const auto way = static_cast<Way>(w);
    const Passage passage = ports_.leave(way, from, transfers[w], engine_.present());
    engine_.at(ports_.head(way, passage), Phase::kNormal,
               [this, push = Push{first.client, first.bucket, first.slot, way, passage.tail}] {
                 enter_servers(push);
               });
  }
}

/// A part that travels by itself.
void PortCarrier::carry(const Parcel& part) {
  const auto [from, to] = ends_of(part);
  const Way way = Ports::way(from, to);
  const Passage passage =
      ports_.leave(way, from, ports_.transfer(way, part.bytes), engine_.present());
  engine_.at(ports_.head(way, passage), Phase::kNormal,
             [this, part, tail = passage.tail] { deliver(part, tail); });
}

void PortCarrier::deliver(const Parcel& part, Time tail) {
  const auto [from, to] = ends_of(part);
  const Way way = Ports::way(from, to);
  const When end = ports_.enter(way, to, ports_.transfer(way, part.bytes), arriving(way, tail));
  const Timed in{part, end};
  part.is_push ? user_.pushed({&in, 1}) : user_.part_pulled(in);
}

void PortCarrier::enter_servers(const Push& push) {
  const auto& pieces = plan_.pieces[push.bucket];
  const PortEnd from = client_end(push.client);
  const Arrival arrival = arriving(push.way, push.tail);
  arrivals_.resize(pieces.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PortEnd to = server_end(pieces[i].server);
    if (Ports::way(from, to) != push.way) continue;
    auto& [part, in] = arrivals_[count++];
    part.client = push.client;
    part.server = pieces[i].server;
    part.slot = push.first_slot + static_cast<std::uint32_t>(i);
    part.bucket = push.bucket;
    part.bytes = pieces[i].bytes;
    part.is_push = true;
    const When entered = ports_.enter(push.way, to, transfer(push.way, part), arrival);
    in.time = entered.time;
    in.cause = entered.cause;
  }
  user_.pushed(std::span(arrivals_).first(count));
}

void PortCarrier::answer(std::span<const Timed> parts) {
  const bool looks_ahead = own_nodes();
  for (const Timed& part : parts) {
    if (looks_ahead || part.at.time <= engine_.now()) {
      leave_server(part.parcel, part.at);
    } else {  // others use the port until then
      engine_.at(part.at, Phase::kNormal, [this, parcel = part.parcel] {
        leave_server(parcel, engine_.present());
        have_left(parcel.client, parcel.bucket);
      });
    }
  }
  have_left(parts.front().parcel.client, parts.front().parcel.bucket);
}

/// Takes the server's port.
inline void PortCarrier::leave_server(const Parcel& part, When at) {
  if (one_by_one_) return carry(part);
  const PortEnd from = server_end(part.server);
  const Way way = Ports::way(from, client_end(part.client));
  const Duration transfer = this->transfer(way, part);
  const Passage passage = ports_.leave(way, from, transfer, at);
  Leaving& leaving = leaving_[static_cast<std::size_t>(way)];
  ++leaving.parts;
  leaving.transfer += transfer;
  if (passage.head < leaving.first.head) leaving.first = passage;
  if (passage.tail > leaving.last.tail) leaving.last = passage;
}

/// Of what has left together. With the last part of a bucket, looks ahead to the client's port.
void PortCarrier::have_left(std::int32_t client, std::size_t bucket) {
  if (one_by_one_) return;
  const std::span<std::uint32_t> ways = std::span(places_).subspan(places(client, bucket), ways_);
  auto missing = static_cast<std::int32_t>(plan_.pieces[bucket].size());
  for (std::size_t w = 0; w < ways_; ++w) {
    if (leaving_[w].parts > 0) add(incoming(client, bucket, w), std::exchange(leaving_[w], {}));
    if (ways[w] != kNone) missing -= incoming_[ways[w]].parts;
  }
  for (std::uint32_t& way : ways) {
    if (way == kNone) continue;
    Incoming& in = incoming_[way];
    const bool lies_ahead = in.head.time > engine_.now();
    if ((missing > 0 || !lies_ahead) && !std::exchange(in.holds_head, true)) engine_.hold(in.head);
    if (missing > 0) continue;
    engine_.at(lies_ahead ? in.head : engine_.present(), Phase::kNormal,
               [this, place = std::exchange(way, kNone)] { enter_client(place); });
  }
}

PortCarrier::Incoming& PortCarrier::incoming(std::int32_t client, std::size_t bucket,
                                             std::size_t way) {
  std::uint32_t& place = places_[places(client, bucket) + way];
  if (place != kNone) return incoming_[place];
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(incoming_.size()));
    incoming_.emplace_back();
  }
  place = free_.back();
  free_.pop_back();
  return incoming_[place] = {client, static_cast<std::uint32_t>(bucket), static_cast<Way>(way)};
}

/// Of parts that left together only the first and the last may lead to anything.
void PortCarrier::add(Incoming& in, const Leaving& leaving) {
  in.parts += leaving.parts;
  in.transfer += leaving.transfer;
  if (leaving.first.head < in.head.time) {
    if (std::exchange(in.holds_head, false)) engine_.release({in.head});
    in.head = ports_.head(in.way, leaving.first);
  }
  // What led to it is not held: before its time has passed, the last part has left, or a later one.
  if (leaving.last.tail > in.tail.time) in.tail = ports_.arrival(in.way, leaving.last).tail;
}

void PortCarrier::enter_client(std::uint32_t place) {
  const Incoming in = incoming_[place];
  free_.push_back(place);
  if (in.holds_head) engine_.release({in.head});
  const When end = ports_.enter(in.way, client_end(in.client), in.transfer, {in.head, in.tail});
  user_.pulled(in.client, in.bucket, in.parts, later(engine_.present(), end));
}

std::optional<Duration> PortCarrier::common_latency() const {
  if (!own_nodes()) return std::nullopt;
  return ports_.latency(Way::kNetwork);
}

Duration PortCarrier::latency(std::int32_t client, std::int32_t server) {
  return ports_.latency(Ports::way(client_end(client), server_end(server)));
}

/// Plays a collective among the workers of a client beside what else is under way there.
void PortCarrier::fly(std::int32_t client, const Collective& collective, Bytes bytes,
                      Callback done) {
  Flights& flights = flights_[static_cast<std::size_t>(client)];
  auto stages = collective.stages(bytes);
  if (stages.empty()) return flights.start(collective.time(bytes), done);
  flights.start(std::move(stages), done);
}

void PortCarrier::all_reduce(std::int32_t client, std::uint32_t message, Bytes bytes, When start,
                             Duration longer) {
  if (flights_.empty()) {
    const PlayedParts parts = plan_.inside_parts ? plan_.inside_parts(bytes) : PlayedParts{};
    When end = reasons_.end(engine_, start, *plan_.aggregation.inside, bytes,
                            plan_.inside_time(bytes), plan_.inside_parts ? &parts : nullptr);
    end = engine_.until(end, longer, overlap_.collective);
    engine_.at(end, Phase::kComplete, [this, client, message] { user_.reduced(client, message); });
    return;
  }
  engine_.at(start, Phase::kComplete, [this, client, message, bytes] {
    fly(client, *plan_.aggregation.inside, bytes,
        {[](void* self, std::uint64_t which) {
           static_cast<PortCarrier*>(self)->user_.reduced(static_cast<std::int32_t>(which >> 32),
                                                          static_cast<std::uint32_t>(which));
         },
         this, static_cast<std::uint64_t>(client) << 32 | message});
  });
}

void PortCarrier::broadcast(std::int32_t client, std::size_t bucket, When start) {
  engine_.at(start, Phase::kComplete, [this, client, bucket] {
    auto& buckets = broadcasts_[static_cast<std::size_t>(client)];
    buckets.push_back(bucket);
    if (buckets.size() == 1) broadcast_next(client);
  });
}

void PortCarrier::broadcast_next(std::int32_t client) {
  const std::size_t bucket = broadcasts_[static_cast<std::size_t>(client)].front();
  fly(client, *plan_.aggregation.spread, plan_.step.buckets[bucket].bytes,
      {[](void* self, std::uint64_t which) {
         static_cast<PortCarrier*>(self)->broadcast_over(static_cast<std::int32_t>(which));
       },
       this, static_cast<std::uint64_t>(client)});
}

void PortCarrier::broadcast_over(std::int32_t client) {
  auto& buckets = broadcasts_[static_cast<std::size_t>(client)];
  const std::size_t bucket = buckets.front();
  buckets.pop_front();
  if (!buckets.empty()) broadcast_next(client);
  user_.broadcasted(client, bucket, engine_.present());
}

}  // namespace steptime
