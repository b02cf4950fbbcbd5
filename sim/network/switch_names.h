// What a fabric whose switches have names of their own has besides.
#pragma once
#include "sim/network/network.h"

#include <string>

namespace steptime {

/// A fabric may be one, too.
class NamesSwitches {
 public:
  virtual ~NamesSwitches() = default;
  /// The switch that a channel leads to; "" where that is a port.
  virtual std::string switch_behind(ChannelId channel) const = 0;
};

}  // namespace steptime
