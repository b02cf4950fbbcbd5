// The command line: verbs, options, exit codes (sim/core/error.h). Data on `out`, messages on
// `err`.
#pragma once
#include <atomic>
#include <ostream>
#include <span>
#include <string>

namespace steptime {

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool shows_progress = false;                     ///< err is a person's terminal
  const std::atomic<bool>* interrupted = nullptr;  ///< set by a signal
  /// Set when nobody reads the output any more, as in `steptime ... | head`; `interrupted` is, too.
  const std::atomic<bool>* closed = nullptr;

  bool is_interrupted() const { return interrupted != nullptr && *interrupted; }
  bool is_closed() const { return closed != nullptr && *closed; }
};

/// Runs "steptime <args>" and returns the exit code. Throws nothing.
int run_command_line(std::span<const std::string> args, const Terminal& terminal);

}  // namespace steptime
