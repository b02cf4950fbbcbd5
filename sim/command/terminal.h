// Where a command writes to, and who may end it.
#pragma once
#include <atomic>
#include <ostream>

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

}  // namespace steptime
