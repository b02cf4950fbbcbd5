// What a part of a run spends its time on.
#pragma once
#include "sim/core/units.h"
#include "sim/events/causes.h"

#include <span>
#include <vector>

namespace steptime {

/// A part of a run: from some time on to an end.
struct PathPart {
  Time begin{};
  When end{};
};

/// The ways back from the ends, less what of them lies before the beginnings: the time of every
/// reason over `share`, the longest first.
std::vector<Cause> causes_between(const Causes& causes, std::span<const PathPart> parts,
                                  double share);

}  // namespace steptime
