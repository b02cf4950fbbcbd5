// Where a command writes to, and who may end it.
#pragma once
#include <atomic>
#include <functional>
#include <ostream>

namespace boost::program_options {
class options_description;
}

namespace steptime {

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool shows_progress = false;                     ///< err is a person's terminal
  const std::atomic<bool>* interrupted = nullptr;  ///< set by a signal
  /// Set when nobody reads the output any more, as in `steptime ... | head`; `interrupted` is, too.
  const std::atomic<bool>* closed = nullptr;
  /// Told a verb's options when --help is asked for, in place of a text; none: prints it.
  const std::function<void(const boost::program_options::options_description&)>* on_help = nullptr;

  bool is_interrupted() const { return interrupted != nullptr && *interrupted; }
  bool is_closed() const { return closed != nullptr && *closed; }
};

}  // namespace steptime
