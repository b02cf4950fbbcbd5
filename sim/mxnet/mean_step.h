// What runs in an engine give together that differ in their seeds only.
#pragma once
#include "sim/mxnet/embedded_step.h"

#include <span>

namespace steptime {

/// Of one run at least. Times, to the picosecond, and causes are means, fingerprints are mixed; the
/// times of single buckets, and what links carry, are the first run's.
EmbeddedStep mean_of(std::span<const EmbeddedStep> runs);

}  // namespace steptime
