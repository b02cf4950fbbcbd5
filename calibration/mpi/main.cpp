// What of Steptime needs MPI; started by `steptime calibrate mpi` and `steptime replay` under
// mpirun.
#include "calibration/mpi/programs.h"

#include <exception>
#include <iostream>
#include <ostream>
#include <streambuf>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/program_options.hpp>

namespace steptime {
namespace {

class Nowhere final : public std::streambuf {
  int overflow(int c) override { return c; }
};

Exit run(const World& world, const std::vector<std::string>& args, const Terminal& terminal,
         std::string& message) {
  const std::string verb = args.empty() ? "" : args.front();
  const std::span<const std::string> rest(args.data() + (args.empty() ? 0 : 1),
                                          args.size() - (args.empty() ? 0 : 1));
  try {
    if (verb == "calibrate") return calibrate(world, rest, terminal);
    if (verb == "replay") return replay(world, rest, terminal);
    throw InputError("expected calibrate or replay; steptime starts this program");
  } catch (const InputError& e) {
    message = e.what();
    return Exit::kBadInput;
  } catch (const ModelFailure& e) {
    message = e.what();
    return Exit::kModelFails;
  } catch (const MissingError& e) {
    message = e.what();
    return Exit::kMissing;
  } catch (const std::exception& e) {
    message = std::string("this is a bug in the simulator: ") + e.what();
    return Exit::kBug;
  }
}

}  // namespace
}  // namespace steptime

int main(int argc, char** argv) {
  using namespace steptime;
  Exit exit = Exit::kOk;
  try {
    const World world(&argc, &argv);
    Nowhere nowhere;
    std::ostream silent(&nowhere);
    const bool speaks = world.is_first();
    const Terminal terminal{.out = speaks ? std::cout : silent,
                            .err = speaks ? std::cerr : silent,
                            .shows_progress = speaks && isatty(STDERR_FILENO) != 0};
    std::string message;
    exit = run(world, {argv + 1, argv + argc}, terminal, message);
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
