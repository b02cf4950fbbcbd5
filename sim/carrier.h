// What carries the bytes of a training run between workers and parameter servers, and inside MPI
// clients: closed forms and ports (sim/port_carrier.h), or messages on the cluster's links
// (sim/message_carrier.h).
#pragma once
#include "sim/units.h"

#include <cstddef>
#include <cstdint>

namespace steptime {

/// A part of a bucket on its way to a server, or back.
struct Parcel {
  std::int32_t client = 0;
  std::int32_t server = 0;
  std::uint32_t slot = 0;    ///< the player's name for the part
  std::uint32_t bucket = 0;  ///< in the order of sending
  Bytes bytes;
  bool is_push = false;  ///< to the server
};

/// Hears what a carrier has done. Times may lie ahead of the engine's, never behind it.
class CarrierUser {
 public:
  virtual ~CarrierUser() = default;
  /// The last byte is in at `in`. Servers take requests in the order of these calls.
  virtual void arrived(const Parcel& parcel, Time in) = 0;
  /// The all-reduce of a client's bucket is over now.
  virtual void reduced(std::int32_t client) = 0;
  /// All workers of the client have a bucket's values at `end`.
  virtual void spread(std::int32_t client, std::size_t bucket, Time end) = 0;
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Sends at `at`, which is not in the past.
  virtual void send(const Parcel& parcel, Time at) = 0;
  /// Of a message without bytes between a client and a server, either way.
  virtual Duration latency(std::int32_t client, std::int32_t server) = 0;
  /// Adds a bucket up among the workers of a client, one bucket at a time, from `start` on.
  virtual void all_reduce(std::int32_t client, std::size_t bucket, Time start) = 0;
  /// Sends a bucket from rank 0 of a client to its other workers, from `start` on; a client's
  /// broadcasts go one after another.
  virtual void broadcast(std::int32_t client, std::size_t bucket, Time start) = 0;
  /// Runs the engine until no event is left.
  virtual void run() = 0;
};

}  // namespace steptime
