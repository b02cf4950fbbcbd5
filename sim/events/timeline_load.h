// How much is under way at every moment, as counters of a timeline.
#pragma once
#include "sim/events/timeline.h"

namespace steptime {

/// For every actor a counter of the bytes per second of its spans that say how many bytes they
/// carry, each spread evenly over its time; spans of tracks called "compute" carry none.
void add_load(Timeline& timeline);

}  // namespace steptime
