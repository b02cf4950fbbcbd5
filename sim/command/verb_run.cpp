#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/input_files.h"
#include "sim/config/text_lines.h"
#include "sim/config/words.h"
#include "sim/core/text_table.h"
#include "sim/core/units.h"
#include "sim/drawing/node_drawing.h"
#include "sim/events/timeline.h"
#include "sim/events/timeline_load.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/jobs.h"
#include "sim/experiment/key_places.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"
#include "sim/experiment/summary.h"
#include "sim/sweeps/sweep.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

std::string csv(const Result& result) {
  std::vector<std::string> head;
  for (const Column& column : csv_columns())
    head.push_back(column.name);
  return csv_row(head) + csv_row(csv_cells(result));
}

std::string rendered(const std::string& format, const Experiment& experiment, const Result& result,
                     std::span<const SentBucket> buckets, const Document& config) {
  if (format == "table") return summary(experiment, result);
  if (format == "csv") return csv(result);
  if (format == "dot") return drawing(node_of(*experiment.cluster), result.links);
  NamedDigests inputs = InputFiles::all().noted(config.file);
  inputs.erase(input_name(config.file, config.file));  // it stands in the result itself
  const Json json = full_json(result, buckets, config.root, inputs);
  return json.dump(format == "json" ? 2 : -1) + "\n";
}

/// Chrome's format if the name ends in .json, else Perfetto's. `e`: of the run, of whose jobs it
/// has the first one only.
void write_timeline(const Experiment& e, OutputFile& file, Timeline& timeline,
                    const Terminal& terminal) {
  const std::size_t spans = timeline.spans().size();
  add_load(timeline);
  file.write(file.path().ends_with(".json") ? timeline.chrome_json() : timeline.perfetto());
  file.commit();
  terminal.err << "wrote " << file.path()
               << (e.jobs ? fmt::format(" of the first of {} jobs only, {}", e.jobs->jobs.size(),
                                        brief(e.jobs->jobs.front().name))
                          : "")
               << (spans == 0
                       ? ", which is empty: these ranks are not drawn, or nothing happens in "
                         "this window\n"
                       : ", open in ui.perfetto.dev\n");
  constexpr std::size_t kMany = 500'000;  // some 60 MB
  if (spans > kMany) {
    terminal.err << fmt::format(
        "it has {} bars: --timeline-window and --timeline-ranks draw a part\n", spans);
  }
}

void check_timeline_name(const std::string& path) {
  for (const char* known : {".pftrace", ".perfetto-trace", ".json"}) {
    if (path.ends_with(known)) return;
  }
  throw InputError(fmt::format(
      "--timeline: expected a name that ends in .pftrace (Perfetto) or .json (Chrome), got {}",
      brief(path)));
}

/// `text` at the one place where `between` stands in it; nothing without that place.
std::optional<std::pair<std::string, std::string>> halves(const std::string& text,
                                                          const std::string& between) {
  const auto at = text.find(between);
  if (at == std::string::npos || text.find(between, at + 1) != std::string::npos)
    return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + between.size()));
}

/// "2-5" and "10 ms..20 ms"; "" is all.
Timeline::Window window_of(const std::string& ranks, const std::string& times) {
  Timeline::Window window;
  if (!ranks.empty()) {
    const auto ends = halves(ranks, "-").value_or(std::pair(ranks, ranks));
    const auto first = number_in<std::int64_t>(ends.first);
    const auto last = number_in<std::int64_t>(ends.second);
    if (!first || !last || *first < 0 || *last < *first)
      throw InputError(
          fmt::format("--timeline-ranks: expected such as 3 or 2-5, got {}", brief(ranks)));
    window.first_rank = *first;
    window.last_rank = *last;
  }
  if (!times.empty()) {
    const auto ends = halves(times, "..");
    try {
      if (!ends) throw InputError("no range");
      window.from = Time(parse_quantity<Duration>(ends->first));
      window.to = Time(parse_quantity<Duration>(ends->second));
    } catch (const InputError&) {
      throw InputError(
          fmt::format("--timeline-window: expected such as 10ms..20ms, got {}", brief(times)));
    }
    if (window.to < window.from)
      throw InputError(fmt::format("--timeline-window: ends before it begins: {}", brief(times)));
  }
  return window;
}

/// Ranks that a run does not have cannot be drawn.
void check_ranks(const Timeline::Window& window, const std::string& ranks, const Experiment& e) {
  const std::int64_t last = e.cluster->workers() - 1;
  if (ranks.empty() || window.last_rank <= last) return;
  const std::string of =
      e.jobs ? fmt::format("of the first job, {}", brief(e.jobs->jobs.front().name)) : "of the run";
  throw InputError(fmt::format("--timeline-ranks: expected ranks from 0 to {}, those {}, got {}",
                               last, of, brief(ranks)));
}

/// `file`: for a timeline, or none.
Result simulated(const Experiment& experiment, std::optional<OutputFile>& file,
                 const Timeline::Window& window, std::vector<SentBucket>& buckets,
                 const Terminal& terminal) {
  ProgressLine line(terminal);
  if (!file) return simulate(experiment, &buckets, line.listener());
  Timeline timeline(window);
  try {
    Result result = simulate(experiment, timeline, &buckets, line.listener());
    experiment.execution->draw_links(experiment, timeline);
    write_timeline(experiment, *file, timeline, terminal);
    return result;
  } catch (const ModelFailure&) {
    write_timeline(experiment, *file, timeline, terminal);  // shows what led to it
    throw;
  }
}

/// Test accuracy of every seed over time.
std::string curves(const TrainingOutcome& training) {
  std::string text(kCurves.start);
  for (std::size_t i = 0; i < training.runs.size(); ++i) {
    for (const CurvePoint& p : training.runs[i].curve) {
      text += fmt::format("{},{},{},{},{}\n", training.seeds[i], p.time_s, p.epoch,
                          p.score.accuracy, p.score.loss);
    }
  }
  return text;
}

}  // namespace

Exit verb_run(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  std::string timeline_path, ranks, times;
  std::string folder;
  std::vector<std::string> sets;
  po::options_description options("options");
  options.add_options()("format", po::value(&format)->default_value("table"),
                        "table, json, jsonl, csv, or dot: a node with what its links carry")(
      "set", po::value(&sets)->composing(), kSetHelp)("seed", po::value<std::int64_t>(),
                                                      "replaces /run/seed")(
      "timeline", po::value(&timeline_path),
      "writes what happened when: NAME.pftrace for Perfetto, NAME.json for Chrome")(
      "timeline-ranks", po::value(&ranks), "of these ranks only, such as 0-3")(
      "timeline-window", po::value(&times), "from when to when, such as 10ms..20ms")(
      "output,o", po::value(&folder),
      "folder that gets NAME.json, and NAME.accuracy.csv of a run that learns")(
      "strict", "exit 5 when the result is not validated by measurements");
  const auto values = parse_arguments(verb, args, options, {"CONFIG"}, terminal);
  if (!values) return Exit::kOk;
  check_word("--format", format, std::vector<std::string>{"table", "json", "jsonl", "csv", "dot"});
  if (values->contains("seed")) {
    sets.push_back(fmt::format("/run/seed={}", (*values)["seed"].as<std::int64_t>()));
  }

  const auto document = load_document((*values)["CONFIG"].as<std::string>(), sets);
  const Experiment experiment = read_experiment(document);
  check_keys_act(document);
  for (const std::string& line : keys_of_other_fidelity(document))
    terminal.err << line << "\n";
  const std::int64_t points = Sweep(document).points();
  // Opened before the run, which may take long.
  std::optional<OutputFile> timeline_file, result_file;
  const Timeline::Window window = window_of(ranks, times);
  if (values->contains("timeline")) {
    check_timeline_name(timeline_path);
    check_ranks(window, ranks, experiment);
    timeline_file.emplace(timeline_path, timeline_path.ends_with(".json") ? kChrome : kPerfetto);
  } else if (!ranks.empty() || !times.empty()) {
    throw InputError(fmt::format("--timeline-{}: expected --timeline beside it",
                                 ranks.empty() ? "window" : "ranks"));
  }
  const std::string curves_path = folder + "/" + experiment.name + ".accuracy.csv";
  if (values->contains("output")) {
    create_folder(folder);
    const std::string path = folder + "/" + experiment.name + ".json";
    check_regular_output(path, kResult);
    check_regular_output(curves_path, kCurves);
    result_file.emplace(path, kResult);
  }
  std::vector<SentBucket> buckets;
  const Result result = simulated(experiment, timeline_file, window, buckets, terminal);
  terminal.out << rendered(format, experiment, result, buckets, *document);
  if (result_file) {
    result_file->write(rendered("json", experiment, result, buckets, *document));
    result_file->commit();
    terminal.err << "wrote " << result_file->path() << "\n";
    if (result.training && result.training->learns) {
      write_file(curves_path, curves(*result.training), kCurves);
      terminal.err << "wrote " << curves_path << "\n";
    }
  }
  if (points > 1) {
    terminal.err << fmt::format("note: the config has a sweep; steptime sweep runs its {} points\n",
                                points);
  }
  if (!values->contains("strict") || result.domain.is_validated()) return Exit::kOk;
  terminal.err << result.domain.text() << "\n";
  return Exit::kOutsideDomain;
}

}  // namespace steptime
