#include "sim/command/cli.h"

#include <atomic>
#include <csignal>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

std::atomic<bool> interrupted{false};
std::atomic<bool> closed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  if (signal == SIGPIPE) closed = true;
  interrupted = true;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE})
    std::signal(signal, on_signal);
  const std::vector<std::string> args(argv + 1, argv + argc);
  return steptime::run_command_line(args, {.out = std::cout,
                                           .err = std::cerr,
                                           .shows_progress = isatty(STDERR_FILENO) != 0,
                                           .interrupted = &interrupted,
                                           .closed = &closed});
}
