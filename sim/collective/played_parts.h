// What the time of a collective that is played as messages passes for, on its critical path: the
// way back from its end, at each step to whatever the rank waited for last.
#pragma once
#include "sim/core/units.h"

#include <algorithm>

namespace steptime {

struct PlayedParts {
  Duration startup{};  ///< latencies of messages
  /// What messages take for their bytes, as if nothing else were on their links.
  Duration transfer{};
  Duration sharing{};  ///< what others on these links make of that
  Duration sums{};     ///< and whatever else occupies the receiving device

  Duration whole() const { return startup + transfer + sharing + sums; }
  /// With a message that would take so long on idle links, and is in `until` after the start.
  PlayedParts after_message(Duration latency, Duration idle_transfer, Duration until) const {
    PlayedParts parts = *this;
    Duration left = until - whole();
    const auto take = [&left](Duration& part, Duration most) {
      const Duration taken = std::min(left, most);
      part += taken;
      left -= taken;
    };
    take(parts.startup, latency);
    take(parts.transfer, idle_transfer);
    parts.sharing += left;
    return parts;
  }
  /// With sums that are over `until` after the start.
  PlayedParts after_sums(Duration until) const {
    PlayedParts parts = *this;
    parts.sums += until - whole();
    return parts;
  }
};

}  // namespace steptime
