#include "sim/command/progress_line.h"

#include "sim/command/escaping_output.h"

#include <ostream>
#include <string_view>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::string_view kClearLine = "\r\033[K";

}  // namespace

ProgressLine::~ProgressLine() {
  if (!shown_) return;
  EscapingOutput::write_raw(terminal_.err, kClearLine);
  terminal_.err << std::flush;
}

void ProgressLine::show(double share, const std::string& what) {
  if (!terminal_.shows_progress || share <= 0) return;
  const auto now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  EscapingOutput::write_raw(terminal_.err, kClearLine);
  terminal_.err << fmt::format("{}{:.0f} %, {:.0f} s left", what, 100 * share,
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
