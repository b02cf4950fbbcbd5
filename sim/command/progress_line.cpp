#include "sim/command/progress_line.h"

#include <ostream>

#include <fmt/format.h>

namespace steptime {

ProgressLine::~ProgressLine() {
  if (shown_) terminal_.err << "\r\033[K" << std::flush;
}

void ProgressLine::show(double share, const std::string& what) {
  if (!terminal_.shows_progress || share <= 0) return;
  const auto now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  terminal_.err << fmt::format("\r\033[K{}{:.0f} %, {:.0f} s left", what, 100 * share,
                               elapsed * (1 - share) / share)
                << std::flush;
}

OnProgress ProgressLine::listener() {
  return [this, listen = until_interrupted(terminal_)](double share) {
    listen(share);
    show(share, what_);
  };
}

OnProgress until_interrupted(const Terminal& terminal) {
  return [&terminal](double) {
    if (terminal.is_interrupted()) throw Interrupted();
  };
}

}  // namespace steptime
