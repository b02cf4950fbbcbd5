// How a program beside steptime ends: the same exit codes, one line about what went wrong.
#pragma once
#include "sim/command/cli.h"
#include "sim/core/error.h"

#include <functional>
#include <span>
#include <string>

namespace steptime {

/// Calls it; what it throws becomes an exit code and a line in `message`.
Exit guarded(const std::function<Exit()>& run, std::string& message);

/// The main() of a program of one process: `run` gets the arguments and speaks on the terminal;
/// signals and a closed output end it within a second (sim/command/watch.h).
using Run = std::function<Exit(std::span<const std::string> args, const Terminal& terminal)>;
int run_program(int argc, char** argv, const Run& run);

}  // namespace steptime
