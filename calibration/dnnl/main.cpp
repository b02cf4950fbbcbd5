// `steptime calibrate compute --backend cpu`: what the layers of a model take on this CPU, forward
// and backward, one thread, written as a trace.
#include "calibration/disturbance.h"
#include "calibration/dnnl/layer_runs.h"
#include "sim/command/output.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/core/error.h"
#include "sim/workload/workload.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <dnnl.h>
#include <fstream>
#include <iostream>
#include <string>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr Verb kVerb{"calibrate", "compute", "times a model's layers on this machine", nullptr};

/// Seconds that this thread has run.
double thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of the values, in order; share 0.5: the median.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Seconds of a layer's passes, by round.
struct LayerTimes {
  std::vector<double> forward;
  std::vector<double> backward;
};

struct Measured {
  std::vector<LayerTimes> layers;
  std::vector<double> whole;  ///< of all layers forward and backward without a look at the clock
  std::vector<double> whole_wall;
};

/// Each round goes through the layers as training does, once with a look at the clock after each
/// layer and once without.
Measured measure(std::vector<LayerRun>& runs, std::int64_t rounds, const OnProgress& on_progress) {
  Measured measured{.layers = std::vector<LayerTimes>(runs.size())};
  for (std::int64_t round = -1; round < rounds; ++round) {  // the first one warms up
    double last = thread_time();
    const auto since_last = [&](std::vector<double>& times) {
      const double now = thread_time();
      if (round >= 0) times.push_back(now - last);
      last = now;
    };
    for (std::size_t k = 0; k < runs.size(); ++k) {
      runs[k].forward();
      since_last(measured.layers[k].forward);
    }
    for (std::size_t k = runs.size(); k-- > 0;) {
      runs[k].backward();
      since_last(measured.layers[k].backward);
    }
    const double start = thread_time();
    const double wall = wall_time();
    for (const LayerRun& run : runs)
      run.forward();
    for (std::size_t k = runs.size(); k-- > 0;)
      runs[k].backward();
    if (round >= 0) {
      measured.whole.push_back(thread_time() - start);
      measured.whole_wall.push_back(wall_time() - wall);
    }
    on_progress(static_cast<double>(round + 1) / static_cast<double>(rounds));
  }
  return measured;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

/// "Intel(R) Xeon(R) ...", as the system names the processor.
std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name") || line.starts_with("cpu\t"))
      return line.substr(line.find(':') + 2);
  }
  return "an unnamed CPU";
}

struct Sums {
  double layers = 0;  ///< of the layers' medians, s of one thread
  double whole = 0;   ///< median of whole passes
  double wall = 0;
};

Sums sums_of(const Measured& measured) {
  Sums sums{0, quantile(measured.whole, 0.5), quantile(measured.whole_wall, 0.5)};
  for (const LayerTimes& times : measured.layers)
    sums.layers += quantile(times.forward, 0.5) + quantile(times.backward, 0.5);
  return sums;
}

Trace trace_of(const LayerTable& table, const Measured& measured, std::int64_t batch) {
  Trace trace{.model = table.name, .device = processor() + ", one thread", .batch = batch};
  Json spread = Json::array();
  for (std::size_t k = 0; k < table.layers.size(); ++k) {
    const LayerTimes& times = measured.layers[k];
    trace.layers.push_back({table.layers[k].name, from_seconds(quantile(times.forward, 0.5)),
                            from_seconds(quantile(times.backward, 0.5)), table.layers[k].tensors});
    spread.push_back(
        {{"layer", table.layers[k].name},
         {"forward_s", {quantile(times.forward, 0.1), quantile(times.forward, 0.9)}},
         {"backward_s", {quantile(times.backward, 0.1), quantile(times.backward, 0.9)}}});
  }
  const Sums sums = sums_of(measured);
  const dnnl_version_t& version = *dnnl_version();
  trace.provenance = {{"source", fmt::format("steptime calibrate compute, oneDNN {}.{}.{}",
                                             version.major, version.minor, version.patch)},
                      {"date", today()},
                      {"licence", "none: facts about the machine at hand"},
                      {"note",
                       "CPU time of one thread; medians. Pooling windows do not overlap; "
                       "dropout, LRN and concatenation take what ReLU takes."},
                      {"measured",
                       {{"rounds", measured.whole.size()},
                        {"whole_pass_s", sums.whole},
                        {"whole_pass_wall_s", sums.wall},
                        {"spread_10_to_90_pct", spread}}}};
  return trace;
}

Exit compute(std::span<const std::string> args, const Terminal& terminal) {
  std::string backend, model, path;
  std::int64_t batch = 1;
  std::int64_t rounds = 5;
  po::options_description options("options");
  options.add_options()("backend", po::value(&backend)->default_value("cpu"), "cpu")(
      "model", po::value(&model)->required(), "layer table, such as torch/resnet50")(
      "batch", po::value(&batch)->default_value(1), "samples")(
      "rounds", po::value(&rounds)->default_value(5), "of all layers")(
      "output,o", po::value(&path), "trace to write; default: standard output");
  const auto values = parse_arguments(kVerb, args, options, {}, terminal);
  if (!values) return Exit::kOk;
  if (backend != "cpu")
    throw InputError(fmt::format("--backend: unknown {}; known: cpu", brief(Json(backend))));
  for (const auto& [name, value, most] :
       {std::tuple{"--batch", batch, 4096}, {"--rounds", rounds, 1000}}) {
    if (value < 1 || value > most)
      throw InputError(fmt::format("{}: expected 1 to {}, got {}", name, most, value));
  }
  const std::string file = find_layer_table(model);
  if (file.empty()) {
    throw InputError(fmt::format("--model: unknown {}; known: {}", brief(Json(model)),
                                 fmt::join(layer_table_names(), ", ")));
  }
  const LayerTable table = read_layer_table(file);
  std::vector<LayerRun> runs = layer_runs(table.layers, batch);
  const double machine = machine_wait_s();
  const double start = wall_time();
  const Measured measured = [&] {
    ProgressLine line(terminal);
    return measure(runs, rounds, line.listener());
  }();
  const double pressure = (machine_wait_s() - machine) / (wall_time() - start) * 100;
  const std::string trace = write_trace(trace_of(table, measured, batch));
  const Sums sums = sums_of(measured);
  terminal.err << fmt::format(
      "{} layers, batch {}, {} rounds: layers add up to {:.1f} ms of one thread, the whole pass "
      "takes {:.1f} ms ({:+.1f} %), {:.1f} ms by the clock on the wall; some task of the machine "
      "waited for a processor {:.0f} % of the time\n",
      table.layers.size(), batch, rounds, sums.layers * 1e3, sums.whole * 1e3,
      (sums.layers / sums.whole - 1) * 100, sums.wall * 1e3, pressure);
  if (path.empty()) {
    terminal.out << trace;
  } else {
    write_file(path, trace);
    terminal.err << "wrote " << path << "\n";
  }
  return Exit::kOk;
}

}  // namespace
}  // namespace steptime

int main(int argc, char** argv) {
  using namespace steptime;
  setenv("OMP_NUM_THREADS", "1", 1);  // before oneDNN's threads begin
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    return static_cast<int>(compute(
        args, {.out = std::cout, .err = std::cerr, .shows_progress = isatty(STDERR_FILENO) != 0}));
  } catch (const InputError& e) {
    std::cerr << "steptime: " << e.what() << "\n";
    return static_cast<int>(Exit::kBadInput);
  } catch (const std::exception& e) {
    std::cerr << "steptime: this is a bug in the simulator: " << e.what() << "\n";
    return static_cast<int>(Exit::kBug);
  }
}
