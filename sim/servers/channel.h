// What a push or pull goes through between a client or server and the wire: copies to the host,
// encoding, threads, the ceiling of a stream. Implemented in netmodels/channels/, one file each.
#pragma once
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/events/engine.h"

#include <cstdint>
#include <memory>
#include <string>

namespace steptime {

/// A piece of a bucket on its way to a server, or back.
struct Parcel {
  std::int32_t client = 0;
  std::int32_t server = 0;
  std::uint32_t slot = 0;    ///< the piece's number among the pieces of all buckets
  std::uint32_t bucket = 0;  ///< in the order of sending
  Bytes bytes;
  bool is_push = false;  ///< to the server
};

/// Who has a connection: clients with GPUs, then those on hosts, then servers.
struct ConnectionEnds {
  std::int64_t clients = 0;
  std::int64_t hosts = 0;
  std::int64_t servers = 0;
};

/// Both ends of every connection of a run, with what is busy there.
class ChannelEnds {
 public:
  virtual ~ChannelEnds() = default;
  /// A message with bytes is handed over now: when its first byte may be on the wire.
  virtual When send(const Parcel& message) = 0;
  /// Its last byte comes from the wire now: when the other side has the message.
  virtual When receive(const Parcel& message) = 0;
};

class MessageChannel {
 public:
  static constexpr const char* kNoun = "channel";
  virtual ~MessageChannel() = default;
  /// For a run on `engine`, which outlives the result. Null: bytes go straight to the wire.
  virtual std::unique_ptr<ChannelEnds> open(Engine& engine, const ConnectionEnds& ends) const = 0;
  /// Whether it never does anything, so that it needs no pushes and pulls to carry.
  virtual bool is_wire() const { return false; }
  /// Whether all that goes one way between a client and a server is on one connection, on which
  /// nothing overtakes: requests and answers without bytes queue behind messages, too.
  virtual bool is_ordered() const { return false; }
  /// Whether its library talks to no server where all its workers are on one machine, and adds up
  /// there among the GPUs only, as BytePS does.
  virtual bool rests_on_one_node() const { return false; }
  /// Empty, or why its times lie outside what was measured.
  virtual std::string outside_domain() const { return ""; }
};
using MessageChannels = Registry<MessageChannel>;

}  // namespace steptime
