// What a run in an engine gives by its record, and what several give together that differ in their
// seeds only.
#pragma once
#include "sim/mxnet/embedded_step.h"

#include <span>

namespace steptime {

/// In each of the run's steps the slowest rank computed, and communication was busy, for so long.
/// `causes`: what the run kept, or null. Throws InternalError when a key was not exchanged.
EmbeddedStep recorded_step(const StepPlan& plan, const RankRecord& recorder, Duration slowest,
                           Duration busy, const Causes* causes);

/// Of one run at least. Times, to the picosecond, and causes are means, fingerprints are mixed; the
/// times of single buckets, and what links carry, are the first run's.
EmbeddedStep mean_of(std::span<const EmbeddedStep> runs);

}  // namespace steptime
