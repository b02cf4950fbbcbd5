// How much there is to play of a step of a layout, known before it begins.
#pragma once
#include "sim/layouts/plan.h"

namespace steptime {

/// Of all ranks together. About: collectives that only some micro-batches call are counted for all.
double messages_of(const LayoutPlan& plan);

/// Passes and exchanges of a rank of each place of the pipeline, which closed forms play.
double calls_of(const LayoutPlan& plan);
/// Of these, in a step: at about 40 B and 100 ns each.
inline constexpr double kMostCalls = 5e7;

}  // namespace steptime
