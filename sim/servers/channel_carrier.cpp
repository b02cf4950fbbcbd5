#include "sim/servers/channel_carrier.h"

#include "sim/servers/message_carrier.h"
#include "sim/servers/port_carrier.h"

namespace steptime {
namespace {

std::unique_ptr<Carrier> wire(const TrainingPlan& plan, Engine& engine, CarrierUser& user,
                              bool one_by_one) {
  if (plan.plays_messages) return std::make_unique<MessageCarrier>(plan, engine, user);
  return std::make_unique<PortCarrier>(plan, engine, user, one_by_one);
}

}  // namespace

std::unique_ptr<Carrier> make_carrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user) {
  const Aggregation& aggregation = plan.aggregation;
  ConnectionEnds ends{.clients = aggregation.clients, .servers = aggregation.servers.count};
  std::int32_t first_server = 0;
  if (aggregation.beyond) {
    ends.hosts = 2 * plan.cluster.nodes;
    first_server = static_cast<std::int32_t>(ends.servers * plan.cluster.nodes);
    ends.servers = first_server + aggregation.beyond->servers.count;
  }
  auto channel = plan.transport->channel->open(engine, ends);
  if (!channel) return wire(plan, engine, user, false);
  return std::make_unique<ChannelCarrier>(
      engine, std::move(channel), first_server, user,
      [&](CarrierUser& above) { return wire(plan, engine, above, true); });
}

void ChannelCarrier::push(std::span<const Parcel> parts) {
  // Every client begins with another server, as all connections are used at once.
  const std::size_t first = static_cast<std::size_t>(parts.front().client) % parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i)
    send(parts[(first + i) % parts.size()]);
}

void ChannelCarrier::answer(std::span<const Timed> parts) {
  for (const auto& [part, when] : parts)
    at(when, [this, sent = part] { send(sent); });
}

/// Now, to the wire and on.
void ChannelCarrier::send(const Parcel& part) {
  const auto to_wire = [this, part] {
    if (part.is_push) return wire_->push({&part, 1});
    const Timed now{part, engine_.present()};
    wire_->answer({&now, 1});
  };
  if (!takes(part)) return to_wire();
  at(ends_->send(part), to_wire);
}

void ChannelCarrier::pushed(std::span<const Timed> parts) {
  for (const Timed& timed : parts) {
    if (!takes(timed.parcel)) {
      user_.pushed({&timed, 1});
      continue;
    }
    at(timed.at, [this, part = timed.parcel] {
      const Timed in{part, ends_->receive(part)};
      user_.pushed({&in, 1});
    });
  }
}

void ChannelCarrier::part_pulled(const Timed& timed) {
  if (!takes(timed.parcel)) return user_.part_pulled(timed);
  at(timed.at, [this, part = timed.parcel] { user_.part_pulled({part, ends_->receive(part)}); });
}

}  // namespace steptime
