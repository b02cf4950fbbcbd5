#include "calibration/compute.h"

#include "calibration/disturbance.h"
#include "calibration/rounds.h"
#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/word_list.h"
#include "sim/workload/workload.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr Verb kVerb{"calibrate", "compute", "times a model's layers on this machine",
                     "",          "",        nullptr};

double wall_time() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of the values, in order; share 0.5: the median.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(values.size() - 1)))];
}

/// Seconds of a layer's passes, by round.
struct LayerTimes {
  std::vector<double> forward;
  std::vector<double> backward;
};

struct Measured {
  std::vector<LayerTimes> layers;
  std::vector<double> whole;  ///< all layers forward and backward, without a mark between them
  std::vector<double> whole_wall;
};

/// Each round goes through the layers as training does, once with a mark after each layer and once
/// without.
Measured measure(ComputeBackend& backend, const std::vector<LayerRun>& runs, std::int64_t rounds,
                 const OnProgress& on_progress) {
  const std::size_t count = runs.size();
  Measured measured{.layers = std::vector<LayerTimes>(count)};
  for (std::int64_t round = -1; round < rounds; ++round) {  // the first one warms up
    backend.mark();
    for (const LayerRun& run : runs) {
      run.forward();
      backend.mark();
    }
    for (std::size_t k = count; k-- > 0;) {
      runs[k].backward();
      backend.mark();
    }
    const std::vector<double> laps = backend.laps();
    const double wall = wall_time();
    backend.mark();
    for (const LayerRun& run : runs)
      run.forward();
    for (std::size_t k = count; k-- > 0;)
      runs[k].backward();
    backend.mark();
    const double whole = backend.laps().front();
    if (round >= 0) {
      for (std::size_t k = 0; k < count; ++k) {
        measured.layers[k].forward.push_back(laps[k]);
        measured.layers[k].backward.push_back(laps[2 * count - 1 - k]);
      }
      measured.whole.push_back(whole);
      measured.whole_wall.push_back(wall_time() - wall);
    }
    on_progress(static_cast<double>(round + 1) / static_cast<double>(rounds));
  }
  return measured;
}

struct Sums {
  double layers = 0;  ///< sum of the layers' medians, s
  double whole = 0;   ///< median of whole passes
  double wall = 0;
};

Sums sums_of(const Measured& measured) {
  Sums sums{0, quantile(measured.whole, 0.5), quantile(measured.whole_wall, 0.5)};
  for (const LayerTimes& times : measured.layers)
    sums.layers += quantile(times.forward, 0.5) + quantile(times.backward, 0.5);
  return sums;
}

Trace trace_of(const LayerTable& table, const Measured& measured, const ComputeBackend& backend,
               const std::string& precision, std::int64_t batch) {
  Trace trace{.model = table.name, .device = backend.device(), .batch = batch};
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
  trace.provenance = {{"source", "steptime calibrate compute, " + backend.library()},
                      {"date", today()},
                      {"licence", "none: facts about the machine at hand"},
                      {"note", backend.time() + ", " + precision +
                                   "; medians. Pooling windows do not overlap; dropout, LRN and "
                                   "concatenation take what ReLU takes."},
                      {"measured",
                       {{"rounds", measured.whole.size()},
                        {"whole_pass_s", sums.whole},
                        {"whole_pass_wall_s", sums.wall},
                        {"spread_10_to_90_pct", spread}}}};
  return trace;
}

}  // namespace

Exit calibrate_compute(const std::string& name, const MakeBackend& make_backend,
                       std::span<const std::string> args, const Terminal& terminal) {
  std::string backend_name, model, precision, path;
  std::int64_t batch = 1;
  std::int64_t rounds = 5;
  po::options_description options("options");
  options.add_options()("backend", po::value(&backend_name)->default_value(name),
                        "cpu: oneDNN; gpu: cuDNN")(
      "model", po::value(&model)->required(), "layer table, such as torch/resnet50 or mine.json")(
      "batch", po::value(&batch)->default_value(1), "samples")(
      "rounds", po::value(&rounds)->default_value(5), "of all layers")(
      "precision", po::value(&precision)->default_value("float32"),
      "of values and products; gpu: tf32, float16 and bfloat16, too")(
      "output,o", po::value(&path), "trace to write; default: standard output");
  const auto values = parse_arguments(kVerb, args, options, {}, terminal);
  if (!values) return Exit::kOk;
  if (backend_name != name) {
    throw InputError(
        fmt::format("--backend: unknown {}; known: cpu, gpu", brief(Json(backend_name))));
  }
  for (const auto& [option, value, most] :
       {std::tuple{"--batch", batch, 4096}, {"--rounds", rounds, 1000}}) {
    if (value < 1 || value > most)
      throw InputError(fmt::format("{}: expected 1 to {}, got {}", option, most, value));
  }
  const std::string file = model.ends_with(".json") ? model : find_layer_table(model);
  if (file.empty()) {
    throw InputError(fmt::format("--model: unknown {}; known: {}", brief(Json(model)),
                                 listed(layer_table_names())));
  }
  const LayerTable table = read_layer_table(file);
  const std::unique_ptr<ComputeBackend> backend = make_backend(precision);
  const std::vector<LayerRun> runs = backend->layer_runs(table.layers, batch);
  const double machine = machine_wait_s();
  const double start = wall_time();
  const Measured measured = [&] {
    ProgressLine line(terminal);
    return measure(*backend, runs, rounds, line.listener());
  }();
  const double pressure = (machine_wait_s() - machine) / (wall_time() - start) * 100;
  const std::string trace = write_trace(trace_of(table, measured, *backend, precision, batch));
  const Sums sums = sums_of(measured);
  terminal.err << fmt::format(
      "{} layers, batch {}, {} rounds: layers add up to {:.1f} ms of {}, the whole pass "
      "takes {:.1f} ms ({:+.1f} %), {:.1f} ms by the clock on the wall; some task of the machine "
      "waited for a processor {:.0f} % of the time\n",
      table.layers.size(), batch, rounds, sums.layers * 1e3, backend->time(), sums.whole * 1e3,
      (sums.layers / sums.whole - 1) * 100, sums.wall * 1e3, pressure);
  if (path.empty()) {
    terminal.out << trace;
  } else {
    write_file(path, trace, kTrace);
    terminal.err << "wrote " << path << "\n";
  }
  return Exit::kOk;
}

}  // namespace steptime
