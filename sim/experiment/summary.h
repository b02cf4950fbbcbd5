// What `run` prints for people: a line per figure, with what one has to know beside it.
#pragma once
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"

#include <string>

namespace steptime {

std::string summary(const Experiment& experiment, const Result& result);

}  // namespace steptime
