// How far a long command is, on one line of a person's terminal that goes away at the end.
#pragma once
#include "sim/cli.h"

#include <chrono>
#include <string>

namespace steptime {

class ProgressLine {
 public:
  explicit ProgressLine(const Terminal& terminal) : terminal_(terminal) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// "WHAT12 %, 3 s left", at most ten times a second; nothing where nobody looks.
  void show(double share, const std::string& what = "");

 private:
  using Clock = std::chrono::steady_clock;
  const Terminal& terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  bool shown_ = false;
};

}  // namespace steptime
