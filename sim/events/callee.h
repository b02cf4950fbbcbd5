// What the domains of a run (run_ahead.h) share.
#pragma once
#include "sim/core/units.h"

#include <cstdint>

namespace steptime {

/// Something that domains share and call.
class Callee {
 public:
  virtual ~Callee() = default;
  /// Of a call that has not returned: no earlier than this, as long as later calls of other domains
  /// are not before the present of the shared clock.
  virtual Time returns_not_before(std::uint64_t call) const = 0;
};

}  // namespace steptime
