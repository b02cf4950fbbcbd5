// Tracks of links on the timeline of a run whose workers move in step.
#pragma once
#include "sim/events/timeline.h"
#include "sim/experiment/experiment.h"

namespace steptime {

/// For every all-reduce that the timeline shows, what it has the links for, on a track of each link
/// and in the all-reduce's flow. At message fidelity: the bytes that each link of the busiest node
/// carries meanwhile; at analytic fidelity the stages of its closed form, with the time in which
/// they have the links of nodes, or those between them. Nothing for a collective that is known by
/// its time only, or has too many messages to be played for that.
void add_link_tracks(Timeline& timeline, const Experiment& experiment);

}  // namespace steptime
