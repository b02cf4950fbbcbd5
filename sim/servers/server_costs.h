// What a server's thread needs for a request.
#pragma once
#include "sim/core/units.h"

#include <functional>

namespace steptime {

struct ServerCosts {
  std::function<Duration(Bytes)> handling{};  ///< what bytes that come in or go out take
  std::function<Duration(Bytes)> updating{};  ///< what parameters that change take
  Duration request{};
  bool any = false;  ///< whether requests keep the thread busy; if not, they go in any order
};

}  // namespace steptime
