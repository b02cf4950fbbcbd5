#include "sim/command/cli.h"
#include "sim/command/watch.h"
#include "sim/core/error.h"

#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const steptime::Watch watch;
  if (watch.has_no_output()) {
    std::cerr << "steptime: the output cannot be written: it is closed\n";
    return static_cast<int>(steptime::Exit::kBadInput);
  }
  const std::vector<std::string> args(argv + 1, argv + argc);
  return steptime::run_command_line(args, {.out = std::cout,
                                           .err = std::cerr,
                                           .shows_progress = isatty(STDERR_FILENO) != 0,
                                           .interrupted = watch.interrupted(),
                                           .closed = watch.closed()});
}
