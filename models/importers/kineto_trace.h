// From the profiles of one rank or several to a trace.
#pragma once
#include "models/importers/kineto_profile.h"
#include "sim/workload/importer.h"

#include <string>
#include <vector>

namespace steptime {

/// The layers' times are means over all steps of all ranks. `whole`: the step becomes one layer,
/// for a trace whose layers cannot be told apart. Throws InputError where they cannot, unless
/// `whole`. `missing`: what is said of the profiles already.
Imported trace_of(const ImportRequest& request, const std::vector<KinetoProfile>& ranks, bool whole,
                  std::vector<std::string> missing = {});

}  // namespace steptime
