// What stands between a gradient and the wire in the communication library of a framework.
// Implemented in netmodels/transports/, one file each.
#pragma once
#include "sim/config/registry.h"

#include <cstdint>

namespace steptime {

struct Transport {
  static constexpr const char* kNoun = "transport";
  /// Collectives that a client has under way at once, at most: communicators, or streams of a GPU.
  std::int64_t streams = 1;
};
using Transports = Registry<Transport>;

}  // namespace steptime
