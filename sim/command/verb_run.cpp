#include "sim/command/output.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/core/text_table.h"
#include "sim/drawing/node_drawing.h"
#include "sim/events/timeline.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "sim/experiment/summary.h"
#include "sim/experiment/sweep.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

std::string csv(const Result& result) {
  const auto keys = result_keys();
  return csv_row({keys.begin(), keys.end()}) + csv_row(csv_cells(result));
}

std::string rendered(const std::string& format, const Experiment& experiment, const Result& result,
                     std::span<const SentBucket> buckets, const Json& config) {
  if (format == "table") return summary(experiment, result);
  if (format == "csv") return csv(result);
  if (format == "dot") return drawing(node_of(*experiment.cluster), result.links);
  const Json json = full_json(result, buckets, config);
  return json.dump(format == "json" ? 2 : -1) + "\n";
}

void write_timeline(OutputFile& file, const Timeline& timeline) {
  file.write(file.path().ends_with(".json") ? timeline.chrome_json() : timeline.perfetto());
  file.commit();
}

/// `file`: for a timeline, or none.
Result simulated(const Experiment& experiment, std::optional<OutputFile>& file,
                 std::vector<SentBucket>& buckets, const Terminal& terminal) {
  ProgressLine line(terminal);
  if (!file) return simulate(experiment, &buckets, line.listener());
  Timeline timeline;
  try {
    Result result = simulate(experiment, timeline, &buckets, line.listener());
    write_timeline(*file, timeline);
    return result;
  } catch (const ModelFailure&) {
    write_timeline(*file, timeline);  // shows what led to it
    throw;
  }
}

/// Test accuracy of every seed over time.
std::string curves(const TrainingOutcome& training) {
  std::string text = csv_row({"seed", "time_s", "epoch", "accuracy", "loss"});
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
  std::string timeline_path;
  std::string folder;
  std::vector<std::string> sets;
  po::options_description options("options");
  options.add_options()("format", po::value(&format)->default_value("table"),
                        "table, json, jsonl, csv, or dot: a node with what its links carry")(
      "set", po::value(&sets)->composing(), "/pointer=value: replaces a value of the config")(
      "seed", po::value<std::int64_t>(), "replaces /run/seed")(
      "timeline", po::value(&timeline_path),
      "writes what happened when: Perfetto's format, or Chrome's if the name ends in .json")(
      "output,o", po::value(&folder),
      "folder that gets NAME.json, and NAME.accuracy.csv of a run that learns")(
      "strict", "exit 5 when the result is not validated by measurements");
  const auto values = parse_arguments(verb, args, options, {"CONFIG"}, terminal);
  if (!values) return Exit::kOk;
  if (format != "dot") check_format(format);
  if (values->contains("seed")) {
    sets.push_back(fmt::format("/run/seed={}", (*values)["seed"].as<std::int64_t>()));
  }

  const auto document = load_document((*values)["CONFIG"].as<std::string>(), sets);
  const Experiment experiment = read_experiment(document);
  const std::int64_t points = Sweep(document).points();
  // Opened before the run, which may take long.
  std::optional<OutputFile> timeline_file, result_file;
  if (values->contains("timeline")) timeline_file.emplace(timeline_path);
  if (values->contains("output")) {
    create_folder(folder);
    result_file.emplace(folder + "/" + experiment.name + ".json");
  }
  std::vector<SentBucket> buckets;
  const Result result = simulated(experiment, timeline_file, buckets, terminal);
  terminal.out << rendered(format, experiment, result, buckets, document->root);
  if (result_file) {
    result_file->write(rendered("json", experiment, result, buckets, document->root));
    result_file->commit();
    terminal.err << "wrote " << result_file->path() << "\n";
    if (result.training && result.training->learns) {
      const std::string curve = folder + "/" + experiment.name + ".accuracy.csv";
      write_file(curve, curves(*result.training));
      terminal.err << "wrote " << curve << "\n";
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
