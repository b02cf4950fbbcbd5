// What published runs allocate beside what is simulated: for people, by group.
#pragma once
#include "sim/evidence/recorded_step.h"

#include <span>
#include <string>

namespace steptime {

/// How many lie within the interval that the rows of all groups but their own give, and how wide
/// these are over the prediction: by group, and of all.
std::string memory_table(std::span<const RecordedMemory> memory);

}  // namespace steptime
