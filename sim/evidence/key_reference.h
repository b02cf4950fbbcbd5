// docs/keys.md: every key of experiments and results, from the tables that read and write them.
#pragma once
#include <string>

namespace steptime {

/// Markdown: a section for each object with keys of its own, one for each kind of thing that is
/// chosen by its "type", and those of sweeps, claims and results.
std::string key_reference();

}  // namespace steptime
