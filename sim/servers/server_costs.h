// What a server's thread needs for a request.
#pragma once
#include "sim/core/units.h"

#include <optional>

namespace steptime {

struct ServerCosts {
  std::optional<Bandwidth> rate{};  ///< bytes in and out that it handles; none: any number
  TimePerByte update{};             ///< what parameters that change take
  Duration request{};               ///< what a push or a pull takes besides its bytes

  /// Whether requests keep the thread busy; if not, they go in any order.
  bool any() const { return rate || update.seconds_per_byte > 0 || request > Duration{}; }
  Duration handling(Bytes bytes) const {
    if (!rate) return {};
    return from_seconds(static_cast<double>(bytes.count) / rate->bytes_per_second);
  }
  Duration updating(Bytes bytes) const { return update * bytes; }
};

}  // namespace steptime
