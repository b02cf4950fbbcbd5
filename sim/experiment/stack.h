// Software stacks: which keys of a config a release of a training framework stands for, as data.
// One JSON file each under models/stacks/.
//
// Scope: values of "workload" and "strategy" that a config can say itself, and overrides by saying
// them. Each has its source in the file.
#pragma once
#include "sim/config/config.h"

#include <memory>
#include <string>
#include <vector>

namespace steptime {

/// The document with the keys of the stack that "strategy.stack" names beneath its own; itself
/// where none is named. Throws InputError.
std::shared_ptr<const Document> with_stack(const std::shared_ptr<const Document>& document);

/// Names of the shipped ones, sorted.
std::vector<std::string> software_stacks();

}  // namespace steptime
