// A step of a layout without a clock: what a rank waits for is the end of another's pass and its
// own exchanges, so that each pass begins at the latest of these, rank by rank, as far as each
// gets.
//
// It is a fast path of the ranks' programs (rank_program.h), which are the model: it goes through
// the same segments, calls and units' weights, and gives the same numbers to the picosecond. That
// holds as long as each exchange takes what it takes by itself: in closed form, where no two
// exchanges are ever on one link at once (link_timetable.h), and those within passes meet none at
// all. Else there is no result, and the programs are played.
#pragma once
#include "sim/layouts/layout_times.h"
#include "sim/layouts/passes_in_order.h"
#include "sim/layouts/plan.h"

#include <optional>

namespace steptime {

/// None: it does not know.
std::optional<LayoutTimes> earliest_starts(const LayoutPlan& plan, const StepPasses& passes);

/// How long the step takes, and nothing else of it.
std::optional<Duration> earliest_step(const LayoutPlan& plan, const StepPasses& passes);

}  // namespace steptime
