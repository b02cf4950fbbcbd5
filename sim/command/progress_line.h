// How far a long command is, on one line of a person's terminal that goes away at the end.
#pragma once
#include "sim/command/cli.h"
#include "sim/core/limits.h"

#include <chrono>
#include <string>
#include <utility>

namespace steptime {

class ProgressLine {
 public:
  explicit ProgressLine(const Terminal& terminal) : terminal_(terminal) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// "WHAT12 %, 3 s left", at most ten times a second; nothing where nobody looks.
  void show(double share, const std::string& what = "");
  /// What the listener says in front of the share from now on; not while it is called.
  void note(std::string what) { what_ = std::move(what); }
  /// Shows the share, and throws Interrupted when the user wants no more. The line must outlive it.
  OnProgress listener();

 private:
  using Clock = std::chrono::steady_clock;
  const Terminal& terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  std::string what_;
  bool shown_ = false;
};

/// Shows nothing, and throws Interrupted when the user wants no more.
OnProgress until_interrupted(const Terminal& terminal);

}  // namespace steptime
