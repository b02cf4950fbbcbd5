#include "calibration/program.h"

#include "sim/command/watch.h"
#include "sim/config/error_line.h"
#include "sim/core/limits.h"

#include <exception>
#include <iostream>
#include <new>
#include <unistd.h>
#include <vector>

namespace steptime {

Exit guarded(const std::function<Exit()>& run, std::string& message) {
  try {
    return run();
  } catch (const Interrupted&) {
    message = "interrupted: no result before the end";
    return Exit::kInterrupted;
  } catch (const InputError& e) {
    message = error_line(e.what());
    return Exit::kBadInput;
  } catch (const ModelFailure& e) {
    message = error_lines(e.what());
    return Exit::kModelFails;
  } catch (const MissingError& e) {
    message = error_line(e.what());
    return Exit::kMissing;
  } catch (const std::bad_alloc&) {
    message = kOutOfMemory;
    return Exit::kBadInput;
  } catch (const std::exception& e) {
    message = std::string("this is a bug in the simulator: ") + e.what();
    return Exit::kBug;
  }
}

int run_program(int argc, char** argv, const Run& run) {
  const Watch watch;
  const std::vector<std::string> args(argv + 1, argv + argc);
  const Terminal terminal{.out = std::cout,
                          .err = std::cerr,
                          .shows_progress = isatty(STDERR_FILENO) != 0,
                          .interrupted = watch.interrupted(),
                          .closed = watch.closed()};
  std::string message;
  const Exit exit = guarded([&] { return run(args, terminal); }, message);
  if (!message.empty()) std::cerr << "steptime: " << message << "\n";
  return static_cast<int>(exit);
}

}  // namespace steptime
