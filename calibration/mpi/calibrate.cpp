#include "calibration/disturbance.h"
#include "calibration/mpi/measure.h"
#include "calibration/mpi/programs.h"
#include "sim/command/output.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/json.h"
#include "sim/core/units.h"
#include "sim/experiment/experiment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr Verb kVerb{"calibrate", "mpi", "measures the ranks that mpirun started", nullptr};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

/// "4", "64 KiB", or K, M, G as nccl-tests has them.
std::int64_t size_option(const char* name, const std::string& text) {
  try {
    if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0)
      return std::stoll(text);
    if (!text.empty() && std::string("KMG").find(text.back()) != std::string::npos)
      return parse_quantity<Bytes>(text.substr(0, text.size() - 1) + " " + text.back() + "iB")
          .count;
    return parse_quantity<Bytes>(text).count;
  } catch (const std::exception&) {
    throw InputError(fmt::format("{}: expected a size such as 4, 64K or \"25 MiB\", got {}", name,
                                 brief(Json(text))));
  }
}

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

Exit calibrate(const World& world, std::span<const std::string> args, const Terminal& terminal) {
  std::string first, last, config, only, path, note;
  double factor = 2;
  std::int64_t rounds = 20;
  po::options_description options("options");
  options.add_options()("minbytes,b", po::value(&first)->default_value("4"), "smallest size")(
      "maxbytes,e", po::value(&last)->default_value("4M"), "largest size")(
      "stepfactor,f", po::value(&factor)->default_value(2), "factor between sizes")(
      "config", po::value(&config), "instead: the sizes that an experiment may send, ratio sqrt 2")(
      "rounds", po::value(&rounds)->default_value(20), "of all sizes")(
      "only", po::value(&only), "one operation, such as all-reduce")(
      "note", po::value(&note), "anything a reader of the measurements must know")(
      "output,o", po::value(&path)->required(), "file of measurements to write, for `fit`");
  const auto values = parse_arguments(kVerb, args, options, {}, terminal);
  if (!values) return Exit::kOk;
  if (world.ranks() < 2)
    throw InputError("expected at least 2 ranks, got 1: mpirun -n 2 steptime calibrate mpi ...");
  if (rounds < 2 || rounds > 10'000)
    throw InputError(fmt::format("--rounds: expected 2 to 10000, got {}", rounds));
  if (!(factor > 1)) throw InputError(fmt::format("-f: expected more than 1, got {}", factor));
  const std::int64_t from = size_option("-b", first);
  const std::int64_t to = size_option("-e", last);
  if (from < 4 || to < from || to > (std::int64_t{1} << 32))
    throw InputError(fmt::format("-b, -e: expected 4 B to 4 GiB, got {} to {} B", from, to));
  const std::vector<std::int64_t> sizes =
      config.empty() ? size_grid(from, to, factor) : sizes_of_config(config);

  const double machine_before = machine_wait_s();
  const double own_before = thread_wait_s();
  const auto start = Clock::now();
  MeasuredRounds measured = [&] {
    ProgressLine line(terminal);
    return measure_operations(world, sizes, rounds, only, line.listener());
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
  if (!note.empty()) measured.provenance["note"] = note;
  write_file(path, rounds_json(measured).dump() + "\n");
  terminal.out << fmt::format(
      "{} ranks on {} node{}, {} sizes from {} to {} B, {} rounds in {:.1f} s; a rank waited "
      "{:.1f} "
      "% of the time for a processor (the machine: {:.1f} %)\n",
      world.ranks(), world.nodes(), world.nodes() == 1 ? "" : "s", sizes.size(), sizes.front(),
      sizes.back(), rounds, wall, own / wall * 100, machine / wall * 100);
  terminal.err << "wrote " << path << "\n";
  return Exit::kOk;
}

}  // namespace steptime
