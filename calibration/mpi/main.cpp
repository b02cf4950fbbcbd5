// What of Steptime needs MPI; started by `steptime calibrate mpi`, `steptime replay` and `steptime
// sweep` under mpirun.
#include "calibration/mpi/programs.h"
#include "calibration/program.h"
#include "sim/command/watch.h"

#include <atomic>
#include <csignal>
#include <iostream>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace steptime {
namespace {

class Nowhere final : public std::streambuf {
  int overflow(int c) override { return c; }
};

Exit run(const MpiProcesses& world, const std::vector<std::string>& args,
         const Terminal& terminal) {
  const std::string verb = args.empty() ? "" : args.front();
  const std::span<const std::string> rest(args.data() + (args.empty() ? 0 : 1),
                                          args.size() - (args.empty() ? 0 : 1));
  if (verb == "calibrate") return calibrate(world, rest, terminal);
  if (verb == "replay") return replay(world, rest, terminal);
  if (verb == "sweep") return sweep(world, rest, terminal);
  throw InputError("expected calibrate, replay or sweep; steptime starts this program");
}

std::atomic<bool> speaks{true};
static_assert(std::atomic<bool>::is_always_lock_free);

/// A rank may wait inside MPI for one that is gone already, so that none can end in good order:
/// each ends at once. Files are complete or not there. A sweep keeps what it has.
extern "C" void end_at_once(int) {
  constexpr std::string_view kText = "steptime: interrupted: no result before the end\n";
  if (speaks && write(STDERR_FILENO, kText.data(), kText.size()) < 0) _exit(1);
  _exit(static_cast<int>(Exit::kInterrupted));
}

int program(int argc, char** argv) {
  Exit exit = Exit::kOk;
  const Watch watch;
  try {
    const MpiProcesses world(&argc, &argv);
    speaks = world.is_first();
    const std::vector<std::string> args(argv + 1, argv + argc);
    for (const int signal : {SIGINT, SIGTERM}) {
      if (args.empty() || args.front() != "sweep") std::signal(signal, end_at_once);
    }
    Nowhere nowhere;
    std::ostream silent(&nowhere);
    const Terminal terminal{.out = speaks ? std::cout : silent,
                            .err = speaks ? std::cerr : silent,
                            .shows_progress = speaks && isatty(STDERR_FILENO) != 0,
                            .interrupted = watch.interrupted(),
                            .closed = watch.closed()};
    std::string message;
    exit = guarded([&] { return run(world, args, terminal); }, message);
    // What goes wrong on all ranks, as bad usage does, is said once; a bug of one rank by itself.
    if (!message.empty() && (speaks || exit == Exit::kBug))
      std::cerr << "steptime: " << message << "\n";
    if (exit == Exit::kBug) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(exit));
  } catch (const MissingError& e) {
    std::cerr << "steptime: " << e.what() << "\n";
    exit = Exit::kMissing;
  }
  return static_cast<int>(exit);
}

}  // namespace
}  // namespace steptime

int main(int argc, char** argv) {
  return steptime::program(argc, argv);
}
