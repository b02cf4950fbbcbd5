#include "sim/servers/transport.h"

#include "sim/step/cycles.h"

#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

Param role(const char* key, const char* help, const std::string& fallback) {
  return {.key = key,
          .kind = Kind::kObject,
          .help = help,
          .need = Need::kDefault,
          .fallback = Json{{"type", fallback}},
          .choice = key};
}

}  // namespace

bool add_transport(const std::string& name, const std::string& help, const Roles& roles) {
  const Params params{
      {.key = "streams",
       .kind = Kind::kInteger,
       .help = "collectives that a client has under way at once, at most",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 1e6}},
      role(MessageChannel::kNoun, "what pushes and pulls go through beside the wire",
           roles.channel),
      role(Backend::kNoun, "how sums are made of collectives", roles.backend),
      role(Coordinator::kNoun, "who decides what is reduced next", roles.coordinator)};
  return Transports::instance().add(name, help, params, [](const Config& c) {
    return std::make_unique<Transport>(
        Transport{.streams = c.get<std::int64_t>("streams"),
                  .channel = MessageChannels::instance().make(c, MessageChannel::kNoun),
                  .backend = Backends::instance().make(c, Backend::kNoun),
                  .coordinator = Coordinators::instance().make(c, Coordinator::kNoun)});
  });
}

std::unique_ptr<Policy> Transport::policy(const Schedule& schedule, std::span<const Bucket> buckets,
                                          const Cluster& cluster) const {
  auto made = coordinator->policy(schedule.policy(buckets), buckets, cluster);
  if (made == nullptr || !launches()) return made;
  return std::make_unique<Launched>(std::move(made));
}

void check_roles(const Config& strategy, const Transport& transport, const Aggregation& aggregation,
                 std::int64_t workers) {
  if (!transport.channel->is_wire() && aggregation.servers.count == 0) {
    strategy.fail("transport",
                  "its channel carries pushes and pulls, and there are no servers; expected "
                  "{\"type\": \"wire\"} under \"channel\", or an aggregation with servers");
  }
  const bool sums_inside = workers == 1 || aggregation.clients < workers;
  if (sums_inside) return;
  const Backend& backend = *transport.backend;
  const bool has_sums = !backend.library().empty() ||
                        backend.all_reduce(aggregation.inside, {}) != aggregation.inside;
  if (has_sums) {
    strategy.fail("transport",
                  "its backend makes all-reduces, and each worker is a client by itself; expected "
                  "{\"type\": \"device\"} under \"backend\", or clients of several workers");
  }
}

}  // namespace steptime
