#include "sim/servers/message_carrier.h"

#include "sim/collective/message_time.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace steptime {

using Placement = ServerGroup::Placement;

namespace {

Guests guests_of(const Cluster& cluster, const Aggregation& aggregation) {
  const ServerGroup& last = aggregation.beyond ? aggregation.beyond->servers : aggregation.servers;
  Guests guests{.hosts = aggregation.beyond.has_value()};
  if (last.count > 0) {
    if (last.placement == Placement::kOwnNodes) guests.nodes = last.count;
    if (last.placement == Placement::kWithWorkers) guests.hosts = true;
    if (!aggregation.beyond) {
      const std::int64_t sharing = last.workers_per_host_link;
      guests.host_links = (cluster.gpus_per_node + sharing - 1) / sharing;
    }
  }
  return guests;
}

}  // namespace

Machine machine_with_servers(const Cluster& cluster, const Aggregation& aggregation) {
  return Machine(cluster, guests_of(cluster, aggregation));
}

namespace {

bool copies_in_threads(const TrainingPlan& plan) {
  return plan.aggregation.servers.copies_at_once > 0;
}

/// The clients of the last servers: the first workers of MPI clients, or the hosts of nodes.
ConnectedRoutes::Clients connected(const TrainingPlan& plan) {
  if (plan.aggregation.beyond)
    return {.first = static_cast<Endpoint>(plan.cluster.workers()), .count = plan.cluster.nodes};
  if (copies_in_threads(plan)) return {};
  return {.count = plan.aggregation.clients, .stride = plan.members()};
}

/// Hosts come first, and are servers where these are on the workers' nodes.
Endpoint first_server(const TrainingPlan& plan) {
  const auto& beyond = plan.aggregation.beyond;
  const bool own = beyond && beyond->servers.placement == Placement::kOwnNodes;
  return static_cast<Endpoint>(plan.cluster.workers() + (own ? plan.cluster.nodes : 0));
}

}  // namespace

MessageCarrier::MessageCarrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user)
    : plan_(plan),
      engine_(engine),
      user_(user),
      members_(plan.members()),
      machine_(machine_with_servers(plan.cluster, plan.aggregation)),
      channels_(machine_.channels()),
      connections_(machine_, connected(plan), first_server(plan)),
      network_(engine, connections_, plan.cluster.messages),
      latency_(engine.reason("latency of a push or pull", "messages on links")),
      transfer_(engine.reason("push or pull", "messages on links")),
      sharing_(engine.reason("push or pull waits or shares", "messages on links")),
      reasons_(engine) {
  const auto clients = static_cast<std::size_t>(plan.aggregation.clients);
  if (copies_in_threads(plan)) copies_.resize(static_cast<std::size_t>(plan.cluster.workers()));
  if (members_ == 1) return;
  const Aggregation& aggregation = plan.aggregation;
  expect_messages(*aggregation.inside, "/strategy/aggregation/collective: fidelity");
  if (aggregation.spread)
    expect_messages(*aggregation.spread, "/strategy/aggregation/spread: fidelity");
  broadcasts_.resize(clients);
  placements_.resize(clients, std::vector<Endpoint>(static_cast<std::size_t>(members_)));
  for (std::size_t c = 0; c < clients; ++c)
    std::iota(placements_[c].begin(), placements_[c].end(),
              client_end(static_cast<std::int32_t>(c)));
}

Endpoint MessageCarrier::client_end(std::int32_t client) const {
  if (!is_host(client)) return static_cast<Endpoint>(client * members_);
  return static_cast<Endpoint>(plan_.cluster.workers() +
                               (client - plan_.aggregation.clients) % plan_.cluster.nodes);
}

Endpoint MessageCarrier::server_end(std::int32_t server) const {
  const Aggregation& aggregation = plan_.aggregation;
  const std::int64_t nodes = plan_.cluster.nodes;
  const std::int64_t workers = plan_.cluster.workers();
  const ServerGroup* servers = &aggregation.servers;
  std::int64_t hosts = 0;
  if (aggregation.beyond) {
    hosts = nodes;
    if (server >= servers->count * nodes) {
      server -= static_cast<std::int32_t>(servers->count * nodes);
      servers = &aggregation.beyond->servers;
    }
  }
  switch (servers->placement) {
    case Placement::kOwnNodes:
      return static_cast<Endpoint>(workers + hosts + server);
    case Placement::kWithWorkers:
      return static_cast<Endpoint>(workers + server % nodes);
    case Placement::kOnGpus:
      break;
  }
  return static_cast<Endpoint>(server % workers);
}

std::vector<LinkUse> MessageCarrier::links(double seconds, double steps) const {
  return link_uses(plan_.cluster, machine_, network_,
                   {seconds, steps, guests_of(plan_.cluster, plan_.aggregation).hosts});
}

void MessageCarrier::expect_over() const {
  const Aggregation& aggregation = plan_.aggregation;
  for (const Inside& in : insides_) {
    if (in.player == nullptr) continue;
    in.player->expect_over(in.broadcasts ? aggregation.spread.get() : aggregation.inside.get());
  }
}

void MessageCarrier::push(std::span<const Parcel> parts) {
  // Every client begins with another server, as its messages may have to wait for each other.
  const std::size_t first = static_cast<std::size_t>(parts.front().client) % parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i)
    post(parts[(first + i) % parts.size()]);
}

void MessageCarrier::answer(std::span<const Timed> parts) {
  for (const Timed& part : parts) {
    if (part.at.time <= engine_.now())
      post(part.parcel);
    else
      engine_.at(part.at, Phase::kNormal, [this, parcel = part.parcel] { post(parcel); });
  }
}

/// Null: the parcel need not wait for others.
MessageCarrier::Copies* MessageCarrier::copies_of(const Parcel& parcel) {
  if (copies_.empty()) return nullptr;
  const Endpoint client = client_end(parcel.client);
  const Endpoint server = server_end(parcel.server);
  for (const Endpoint end : {parcel.is_push ? client : server, parcel.is_push ? server : client}) {
    if (static_cast<std::size_t>(end) < copies_.size())
      return &copies_[static_cast<std::size_t>(end)];
  }
  return nullptr;
}

/// Which of the parcels that wait for a GPU goes first, the lowest. MXNet copies a sum to the host
/// with priority 0: that of keys is their number, from 0 on, or its negative.
std::int64_t MessageCarrier::rank(const Parcel& parcel) const {
  const bool last_first = plan_.aggregation.servers.last_bucket_first;
  if (is_host(parcel.client) && !parcel.is_push) {
    using Limits = std::numeric_limits<std::int64_t>;
    return last_first ? Limits::min() : Limits::max();
  }
  const std::int64_t bucket = parcel.bucket;
  return last_first ? -bucket : bucket;
}

void MessageCarrier::post(const Parcel& parcel) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(parcels_.size()));
    parcels_.emplace_back();
    sent_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  parcels_[index] = parcel;
  const ServerGroup& servers = plan_.aggregation.servers;
  if (Copies* const copies = copies_of(parcel); copies != nullptr) {
    if (copies->under_way == servers.copies_at_once) {
      copies->waiting.push({rank(parcel), arrivals_++, index});
      return;
    }
    ++copies->under_way;
  }
  transmit(index);
}

void MessageCarrier::transmit(std::uint32_t index) {
  const Parcel& parcel = parcels_[index];
  sent_[index] = engine_.hold(engine_.present());
  Message message{.sink = this,
                  .from = client_end(parcel.client),
                  .to = server_end(parcel.server),
                  .bytes = parcel.bytes.count,
                  .sender = static_cast<std::int32_t>(index)};
  if (!parcel.is_push) std::swap(message.from, message.to);
  network_.send(message);
}

void MessageCarrier::delivered(const Message& message) {
  const auto index = static_cast<std::uint32_t>(message.sender);
  const Parcel parcel = parcels_[index];
  free_.push_back(index);
  if (engine_.keeps_causes()) engine_.because(arrived(sent_[index]));
  if (Copies* const copies = copies_of(parcel); copies != nullptr) {
    if (copies->waiting.empty()) {
      --copies->under_way;
    } else {
      const std::uint32_t next = copies->waiting.top().parcel;
      copies->waiting.pop();
      transmit(next);
    }
  }
  engine_.at(engine_.now(), Phase::kNormal, [this, parcel] {
    const Timed now{parcel, engine_.present()};
    if (parcel.is_push) return user_.pushed({&now, 1});
    user_.part_pulled(now);
  });
}

/// Now, with why it took so long: what it takes on idle links, and what others on them make of it.
When MessageCarrier::arrived(Held sent) {
  const Network::Alone alone = network_.alone();
  return engine_.until(engine_.release(sent), engine_.now(),
                       Stretches{{latency_, alone.latency}, {transfer_, alone.transfer}, sharing_});
}

Duration MessageCarrier::latency(std::int32_t client, std::int32_t server) {
  path_.clear();
  machine_.route(client_end(client), server_end(server), path_);
  Duration sum = plan_.cluster.messages.eager_overhead;
  for (const ChannelId channel : path_)
    sum += channels_[channel].latency;
  return sum;
}

void MessageCarrier::all_reduce(std::int32_t client, std::uint32_t message, Bytes bytes, When start,
                                Duration) {
  if (members_ == 1) {
    engine_.at(start, Phase::kComplete,
               [this, client, message] { user_.reduced(client, message); });
    return;
  }
  engine_.at(start, Phase::kNormal,
             [this, client, message, bytes] { play(client, false, message, bytes); });
}

void MessageCarrier::broadcast(std::int32_t client, std::size_t bucket, When start) {
  engine_.at(start, Phase::kNormal, [this, client, bucket] {
    auto& buckets = broadcasts_[static_cast<std::size_t>(client)];
    buckets.push_back(bucket);
    if (buckets.size() == 1) broadcast_next(client);
  });
}

void MessageCarrier::broadcast_next(std::int32_t client) {
  const std::size_t bucket = broadcasts_[static_cast<std::size_t>(client)].front();
  play(client, true, static_cast<std::uint32_t>(bucket), plan_.step.buckets[bucket].bytes);
}

void MessageCarrier::play(std::int32_t client, bool broadcasts, std::uint32_t what, Bytes bytes) {
  if (free_insides_.empty()) {
    free_insides_.push_back(static_cast<std::int32_t>(insides_.size()));
    insides_.emplace_back();
  }
  const std::int32_t place = free_insides_.back();
  free_insides_.pop_back();
  const Aggregation& aggregation = plan_.aggregation;
  const Collective& collective = broadcasts ? *aggregation.spread : *aggregation.inside;
  Inside& in = insides_[static_cast<std::size_t>(place)];
  in = {client,  broadcasts,
        what,    collective.programs(bytes),
        nullptr, engine_.hold(engine_.present())};
  in.player = std::make_unique<CollectivePlayer>(
      network_, in.programs, plan_.cluster.reduction,
      std::span<const Endpoint>(placements_[static_cast<std::size_t>(client)]), nullptr,
      engine_.keeps_causes());
  in.player->tell(*this, place);
  in.player->start_at(engine_.now());
}

void MessageCarrier::over(std::int32_t place) {
  Inside& in = insides_[static_cast<std::size_t>(place)];
  if (engine_.keeps_causes())
    engine_.because(reasons_.end_of_played(engine_, engine_.release(in.begun), in.player->parts()));
  in.player.reset();
  free_insides_.push_back(place);
  const std::int32_t client = in.client;
  if (!in.broadcasts) return user_.reduced(client, in.what);
  const std::size_t bucket = in.what;
  auto& buckets = broadcasts_[static_cast<std::size_t>(client)];
  buckets.pop_front();
  if (!buckets.empty()) broadcast_next(client);
  user_.broadcasted(client, bucket, engine_.present());
}

}  // namespace steptime
