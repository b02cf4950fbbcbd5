// What published steps say of predictions: for people, by kind.
#pragma once
#include "sim/evidence/claims.h"

#include <span>
#include <string>

namespace steptime {

/// A line for each kind of prediction: how many measurements of how many testbeds, their errors,
/// and how many lie within the interval that rows of other testbeds give. Then the same by network,
/// model and system; below, that of all, and the width of these intervals.
std::string record_table(std::span<const RecordedStep> steps);

}  // namespace steptime
