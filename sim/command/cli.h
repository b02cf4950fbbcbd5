// The command line: verbs, options, exit codes (sim/core/error.h). Data on `out`, messages on
// `err`.
#pragma once
#include "sim/command/terminal.h"

#include <span>
#include <string>

namespace steptime {

/// Runs "steptime <args>" and returns the exit code. Throws nothing.
int run_command_line(std::span<const std::string> args, const Terminal& terminal);

}  // namespace steptime
