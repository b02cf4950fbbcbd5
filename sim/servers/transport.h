// What stands between a gradient and the wire in the communication library of a framework, in three
// roles: a channel carries pushes and pulls, a backend makes sums of collectives, a coordinator
// decides what is reduced next. A transport names all three; a config may name another one for a
// role. Implemented in netmodels/transports/, one file each.
#pragma once
#include "sim/collective/backend.h"
#include "sim/config/registry.h"
#include "sim/servers/aggregation.h"
#include "sim/servers/channel.h"
#include "sim/step/coordinator.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace steptime {

struct Transport {
  static constexpr const char* kNoun = "transport";
  /// Collectives that a client has under way at once, at most: communicators, or streams of a GPU.
  std::int64_t streams = 1;
  std::shared_ptr<const MessageChannel> channel{};
  std::shared_ptr<const Backend> backend{};
  std::shared_ptr<const Coordinator> coordinator{};

  /// Who decides while steps run; null: every bucket goes as soon as it is ready.
  std::unique_ptr<Policy> policy(const Schedule& schedule, std::span<const Bucket> buckets,
                                 const Cluster& cluster) const;
  /// Who decides waits for no message to be through before it sends another one.
  bool launches() const { return coordinator->goes_on_when_launched() && backend->launches(); }
};
using Transports = Registry<Transport>;

/// The roles that a transport has where its config does not say otherwise, by their names.
struct Roles {
  std::string channel = "wire";
  std::string backend = "device";
  std::string coordinator = "none";
};
/// Adds a transport that consists of these. Returns true.
bool add_transport(const std::string& name, const std::string& help, const Roles& roles);

/// Throws InputError, through `strategy`, for a role that has nothing to do.
void check_roles(const Config& strategy, const Transport& transport, const Aggregation& aggregation,
                 std::int64_t workers);

}  // namespace steptime
