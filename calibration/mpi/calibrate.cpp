#include "calibration/disturbance.h"
#include "calibration/mpi/measure.h"
#include "calibration/mpi/programs.h"
#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/json.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"

#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr Verb kVerb{"calibrate", "mpi", "measures the ranks that mpirun started", "", "", nullptr};

/// From the smallest tensor to all of them together, in steps of sqrt 2.
std::vector<std::int64_t> sizes_of_config(const std::string& path) {
  const Experiment experiment = read_experiment(load_document(path, {}));
  std::int64_t least = 0;
  std::int64_t all = 0;
  for (const GradientUnit& unit : experiment.workload->by_tensor) {
    all += unit.bytes.count;
    if (least == 0 || unit.bytes.count < least) least = unit.bytes.count;
  }
  if (least == 0) throw InputError(path + ": /workload: has no gradients to send");
  return size_grid(least, all, std::sqrt(2.0));
}

}  // namespace

Exit calibrate(const MpiProcesses& world, std::span<const std::string> args,
               const Terminal& terminal) {
  std::string config;
  po::options_description options("options");
  MeasureOptions measure(options);
  options.add_options()("config", po::value(&config),
                        "instead of -b, -e, -f: the sizes that an experiment may send, ratio "
                        "sqrt 2");
  const auto values = parse_arguments(kVerb, args, options, {}, terminal);
  if (!values) return Exit::kOk;
  measure.check();
  if (world.ranks() < 2)
    throw InputError("expected at least 2 ranks, got 1: mpirun -n 2 steptime calibrate mpi ...");
  const std::vector<std::int64_t> sizes =
      config.empty() ? measure.sizes() : sizes_of_config(config);

  const double machine_before = machine_wait_s();
  const double own_before = thread_wait_s();
  const auto start = Clock::now();
  MeasuredRounds measured = [&] {
    ProgressLine line(terminal);
    return measure_operations(world, sizes, measure, line.listener());
  }();
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  const double machine = machine_wait_s() - machine_before;
  const double own = world.sum(thread_wait_s() - own_before) / world.ranks();
  if (!world.is_first()) return Exit::kOk;
  measured.provenance = {{"source", "steptime calibrate mpi"},
                         {"date", today()},
                         {"licence", "none: facts about the machine at hand"},
                         {"mpi", world.library()},
                         {"ranks", world.ranks()},
                         {"nodes", world.nodes()},
                         {"processors", std::thread::hardware_concurrency()},
                         {"seconds", wall},
                         {"cpu_pressure", machine / wall},
                         {"cpu_waits_per_rank", own / wall}};
  if (!measure.note.empty()) measured.provenance["note"] = measure.note;
  write_file(measure.path, rounds_json(measured).dump() + "\n", kMeasurements);
  terminal.out << fmt::format(
      "{} ranks on {} node{}, {} sizes from {} to {} B, {} rounds in {:.1f} s; a rank waited "
      "{:.1f} "
      "% of the time for a processor (the machine: {:.1f} %)\n",
      world.ranks(), world.nodes(), world.nodes() == 1 ? "" : "s", sizes.size(), sizes.front(),
      sizes.back(), measured.series.front().sizes.front().seconds.size(), wall, own / wall * 100,
      machine / wall * 100);
  terminal.err << "wrote " << measure.path << "\n";
  return Exit::kOk;
}

}  // namespace steptime
