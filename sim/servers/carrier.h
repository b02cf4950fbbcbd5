// What carries the bytes of a training run between workers and parameter servers, and inside MPI
// clients: closed forms and ports (sim/servers/port_carrier.h), or messages on the cluster's links
// (sim/servers/message_carrier.h).
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

/// A part of a bucket on its way to a server, or back. Where aggregation goes on beyond the nodes,
/// the host of each node is a client, too, twice: after the workers, of the servers beyond, which
/// come after all places in the nodes; and after these clients, of the places in its node.
struct Parcel {
  std::int32_t client = 0;
  std::int32_t server = 0;
  std::uint32_t slot = 0;    ///< the player's name for the part
  std::uint32_t bucket = 0;  ///< in the order of sending
  Bytes bytes;
  bool is_push = false;  ///< to the server
};
/// A parcel and when it is there, or leaves.
struct Timed {
  Parcel parcel;
  When at{};
};

/// Hears what a carrier has done. Times may lie ahead of the engine's, never behind it.
class CarrierUser {
 public:
  virtual ~CarrierUser() = default;
  /// Pushes of one bucket are in at the times that stand with them. Servers take requests in the
  /// order in which they are told.
  virtual void pushed(std::span<const Timed> parts) = 0;
  /// `parts` of what a client pulls of a bucket are in at `in`.
  virtual void pulled(std::int32_t client, std::size_t bucket, std::int32_t parts, When in) = 0;
  /// One of them, from a carrier on which parts travel one by one.
  virtual void part_pulled(const Timed& part) {
    pulled(part.parcel.client, part.parcel.bucket, 1, part.at);
  }
  /// The all-reduce of a client's message is over now.
  virtual void reduced(std::int32_t client, std::uint32_t message) = 0;
  /// All workers of the client have a bucket's values at `end`.
  virtual void broadcasted(std::int32_t client, std::size_t bucket, When end) = 0;
};

/// What pushes and pulls go through.
class ParcelCarrier {
 public:
  virtual ~ParcelCarrier() = default;
  /// Sends all parts of a client's bucket to their servers, now, in the order of their slots.
  virtual void push(std::span<const Parcel> parts) = 0;
  /// Sends what one client pulls of one bucket at the times that stand with it, not in the past.
  virtual void answer(std::span<const Timed> parts) = 0;
  /// Of a message without bytes between a client and a server, either way.
  virtual Duration latency(std::int32_t client, std::int32_t server) = 0;
  /// That, when it is the same for all.
  virtual std::optional<Duration> common_latency() const = 0;
};

class Carrier : public ParcelCarrier {
 public:
  /// What links have carried in `seconds`, for one of so many steps; none where there are no links.
  virtual std::vector<LinkUse> links(double /*seconds*/, double /*steps*/) const { return {}; }
  /// When nothing is under way any more: throws InternalError when a collective is not over, with
  /// the rank that waits, in which step, and for whom.
  virtual void expect_over() const {}
  /// Adds a message up among the workers of a client, from `start` on, beside what else is under
  /// way. `longer`: by how much kernels beside it slow it down; 0 where it meets other traffic.
  virtual void all_reduce(std::int32_t client, std::uint32_t message, Bytes bytes, When start,
                          Duration longer) = 0;
  /// Sends a bucket from rank 0 of a client to its other workers, from `start` on; a client's
  /// broadcasts go one after another.
  virtual void broadcast(std::int32_t client, std::size_t bucket, When start) = 0;
};

}  // namespace steptime
