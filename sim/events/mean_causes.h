// What several runs spend their time on, together.
#pragma once
#include "sim/events/causes.h"

#include <span>
#include <vector>

namespace steptime {

/// The mean over the runs of every cause's seconds, the longest first.
std::vector<Cause> mean_causes(const std::vector<std::span<const Cause>>& runs);

}  // namespace steptime
