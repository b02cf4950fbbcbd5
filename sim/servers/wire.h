// What carries pushes, pulls and their answers between clients and parameter servers. A wire knows
// when bytes are there; what is done with them is the servers' business (servers.h).
#pragma once
#include "sim/collective/link_use.h"
#include "sim/core/units.h"
#include "sim/events/causes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace steptime {

class Client;
class Exchanges;

/// A bucket's exchange that is under way: a push, and what it is answered with. Thousands of them
/// are, so each is a record of 64 bytes and no program.
struct Exchanged {
  Exchanges* owner = nullptr;
  When last{};  ///< when the latest of the answers so far came
  std::int32_t client = 0;
  std::int32_t bucket = 0;
  std::uint32_t first_slot = 0;  ///< number of its first piece among the pieces of all buckets
  std::int32_t missing = 0;      ///< answers
  Client* asker = nullptr;       ///< hears of the end
  Time push_sent{};              ///< for drawings
  Time pull_sent{};
};

/// Hears of what a wire has carried. Times may lie ahead of the clock's, never behind it.
class Exchanges {
 public:
  virtual ~Exchanges() = default;
  /// Pushed pieces, from number `first` of the bucket's on, are at their servers at these times.
  /// Servers take requests in the order in which they are told.
  virtual void pushed(Exchanged& of, std::uint32_t piece, When in) = 0;
  static constexpr std::int32_t kServers = -1;
  /// So many pulled pieces are at the client at `in`, of one server or together, of `kServers`.
  virtual void pulled(Exchanged& of, std::int32_t server, std::int32_t pieces, When in) = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  /// Sends all pieces of the bucket to their servers, now, in their order.
  virtual void push(Exchanged& of) = 0;
  /// Pieces from number `first` on leave their servers at these times, which do not lie in the
  /// past.
  virtual void answer(Exchanged& of, std::uint32_t first, std::span<const When> leave) = 0;
  /// Of a message without bytes between a client and a server, either way.
  virtual Duration latency(std::int32_t client, std::int32_t server) = 0;
  /// That, when it is the same for all.
  virtual std::optional<Duration> common_latency() const { return std::nullopt; }
};

}  // namespace steptime
