// Which way of running its steps an experiment has.
#pragma once
#include "sim/experiment/runs/execution.h"

namespace steptime {

/// By its parts, which are all there. It lives for ever.
const Execution& execution_of(const Experiment& e);

/// Chooses it and joins the words of its kind, when all parts are there. Throws InputError for
/// parts that say nothing together.
void complete(Experiment& e, const Execution::DocumentOf& document);

}  // namespace steptime
