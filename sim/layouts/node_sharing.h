// How much slower links inside nodes are for the groups of a layout than closed forms have it.
#pragma once
#include "sim/layouts/plan.h"

namespace steptime {

/// Returns how many times as long as in closed form the slowest message of a group takes, at most,
/// while all groups of its kind send around their rings at once. Closed forms take each group to
/// have the links inside a node to itself, and neighbours in the pipeline or among context ranks to
/// have the link of the best ring. What groups share of adapters they model. 1 if no message takes
/// longer, or if nodes have no graph.
double slowed_inside_nodes(const LayoutPlan& plan);

}  // namespace steptime
