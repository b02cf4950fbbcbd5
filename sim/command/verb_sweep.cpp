#include "sim/command/output.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/sweep.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

/// The last name of a pointer that says something: "type" stands for what it is the type of.
std::string label(const std::string& pointer) {
  std::string name = pointer;
  if (name.ends_with("/type")) name.resize(name.size() - 5);
  return name.substr(name.rfind('/') + 1);
}

std::string shown(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("type")) return shown(value["type"]);
  return value.dump();
}

std::string seconds(std::optional<double> value) {
  return value ? fmt::format("{:.1f}", *value) : "never";
}

/// What `sweep` prints for people: a column for each figure that some point has. The time to the
/// target is the median of the seeds, beside the fastest and slowest of them. What failed has the
/// number of a note below the table.
class SweepTable {
 public:
  explicit SweepTable(const Sweep& sweep) : sweep_(sweep) {}

  void add(const SweepRow& row) {
    Row cells;
    for (const Json& value : sweep_.params(row.point))
      cells.params.push_back(shown(value));
    if (row.result) {
      const Result& r = *row.result;
      cells.figures = {fmt::format("{:.3f}", r.step_time_s * 1e3),
                       fmt::format("{:.3f}", r.exposed_comm_s * 1e3),
                       fmt::format("{}", r.messages),
                       fmt::format("{:.1f}", r.throughput_samples_per_s),
                       fmt::format("{:.2f}", r.speedup),
                       fmt::format("{:.1f}", r.scaling_efficiency * 100),
                       r.epoch_time_s ? fmt::format("{:.1f}", *r.epoch_time_s) : ""};
      if (r.training && r.training->learns) {
        const TrainingOutcome& t = *r.training;
        const double accuracy = t.final_accuracy().value_or(0) * 100;
        cells.figures.insert(cells.figures.end(),
                             {fmt::format("{:.1f}", accuracy), seconds(t.time_to_target()),
                              seconds(t.fastest_to_target()), seconds(t.slowest_to_target())});
      }
    } else {
      const auto [known, is_new] = numbers_.emplace(row.error, numbers_.size() + 1);
      if (is_new) notes_ += fmt::format("\n[{}] {}\n", known->second, row.error);
      cells.figures.resize(std::size(kHead) - 1);
      cells.figures.push_back(fmt::format("[{}]", known->second));
    }
    cells.figures.resize(std::size(kHead));
    rows_.push_back(std::move(cells));
  }

  std::string text() const {
    std::vector<std::size_t> columns;
    for (std::size_t c = 0; c < std::size(kHead); ++c) {
      const bool used = std::any_of(rows_.begin(), rows_.end(),
                                    [&](const Row& row) { return !row.figures[c].empty(); });
      if (used) columns.push_back(c);
    }
    std::vector<std::string> head;
    for (const std::string& pointer : sweep_.pointers())
      head.push_back(label(pointer));
    for (const std::size_t c : columns)
      head.emplace_back(kHead[c]);
    TextTable table(head);
    for (const Row& row : rows_) {
      std::vector<std::string> cells = row.params;
      for (const std::size_t c : columns)
        cells.push_back(row.figures[c]);
      table.add(std::move(cells));
    }
    return table.text() + notes_;
  }

 private:
  struct Row {
    std::vector<std::string> params;
    std::vector<std::string> figures;  ///< as in kHead
  };
  static constexpr const char* kHead[] = {"step ms",  "exposed ms",   "messages",  "samples/s",
                                          "speedup",  "efficiency %", "epoch s",   "accuracy %",
                                          "target s", "fastest s",    "slowest s", "error"};

  const Sweep& sweep_;
  std::vector<Row> rows_;
  std::map<std::string, std::size_t> numbers_;  ///< of the notes, by their text
  std::string notes_;
};

/// A text of several lines on one, for a cell.
std::string joined(const std::string& text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      line += text[i];
      continue;
    }
    line += line.ends_with(':') || line.ends_with(';') ? " " : "; ";
    i = std::min(text.find_first_not_of(" \n", i), text.size()) - 1;
  }
  return line;
}

std::vector<std::string> csv_head(const Sweep& sweep) {
  std::vector<std::string> cells{"point"};
  for (const std::string& pointer : sweep.pointers())
    cells.push_back(pointer);
  for (const std::string_view key : result_keys())
    cells.emplace_back(key);
  cells.emplace_back("error");
  return cells;
}

std::vector<std::string> csv_line(const Sweep& sweep, const SweepRow& row) {
  std::vector<std::string> cells{std::to_string(row.point)};
  for (const Json& value : sweep.params(row.point))
    cells.push_back(shown(value));
  if (row.result) {
    for (std::string& cell : csv_cells(*row.result))
      cells.push_back(std::move(cell));
  } else {
    cells.resize(cells.size() + result_keys().size());
  }
  cells.push_back(joined(row.error));
  return cells;
}

}  // namespace

Exit verb_sweep(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  std::string folder;
  std::vector<std::string> sets;
  int threads = 0;
  po::options_description options("options");
  options.add_options()("format", po::value(&format)->default_value("table"),
                        "table, json, jsonl or csv")(
      "jobs,j", po::value(&threads)->default_value(0), "threads; 0: one per processor")(
      "set", po::value(&sets)->composing(), "/pointer=value: replaces a value of the config")(
      "output,o", po::value(&folder), "folder that gets NAME.jsonl and NAME.csv")(
      "full", "rows carry buckets and the resolved config")(
      "strict", "exit 5 when a point lies outside the calibrated domain");
  const auto values = parse_arguments(verb, args, options, {"CONFIG"}, terminal);
  if (!values) return Exit::kOk;
  constexpr int kMostThreads = 4096;
  if (threads < 0 || threads > kMostThreads) {
    throw InputError(fmt::format("--jobs: expected 0 to {}, got {}", kMostThreads, threads));
  }
  if (threads == 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  check_format(format);

  const Sweep sweep(load_document((*values)["CONFIG"].as<std::string>(), sets));
  for (const std::string& set : sets) {
    const std::string pointer = set.substr(0, set.find('='));
    for (const std::string& swept : sweep.pointers()) {
      if (pointer == swept) {
        throw InputError(fmt::format("--set {}: the sweep sets it; set /sweep/... instead", set));
      }
    }
  }
  const std::string name = PointRunner(sweep).experiment().name;
  std::optional<OutputFile> jsonl;
  std::optional<OutputFile> csv;
  if (!folder.empty()) {
    create_folder(folder);
    jsonl.emplace(folder + "/" + name + ".jsonl");
    csv.emplace(folder + "/" + name + ".csv");
    csv->write(csv_row(csv_head(sweep)));
  }
  SweepTable table(sweep);
  if (format == "csv") terminal.out << csv_row(csv_head(sweep));
  if (format == "json") terminal.out << "[\n";
  std::string outside;
  std::string first_error;
  std::int64_t rows = 0;
  std::int64_t failed = 0;
  {
    ProgressLine progress(terminal);
    SweepOptions run{
        .threads = threads, .full = values->contains("full"), .stop = terminal.interrupted};
    run.on_row = [&](const SweepRow& row, const std::string& line) {
      ++rows;
      if (row.result && row.result->domain != "inside" && outside.empty()) {
        outside = row.result->domain;
      }
      if (!row.result && first_error.empty()) first_error = row.error;
      if (jsonl) jsonl->write(line);
      if (csv) csv->write(csv_row(csv_line(sweep, row)));
      if (format == "table") table.add(row);
      if (format == "jsonl") terminal.out << line;
      if (format == "csv") terminal.out << csv_row(csv_line(sweep, row));
      if (format == "json") {
        terminal.out << (rows == 1 ? " " : ",") << line;
      }
    };
    run.on_progress = [&](std::int64_t done, double points) {
      terminal.out.flush();
      if (jsonl) jsonl->flush();
      progress.show(points / static_cast<double>(sweep.points()),
                    fmt::format("{}/{} points, ", done, sweep.points()));
    };
    failed = run_sweep(sweep, run);
  }
  if (format == "table") terminal.out << table.text();
  if (format == "json") terminal.out << "]\n";
  if (jsonl) {
    jsonl->commit();
    csv->commit();
    terminal.err << "wrote " << jsonl->path() << " and " << csv->path() << "\n";
  }
  if (rows < sweep.points()) {
    if (!terminal.is_closed())
      terminal.err << fmt::format("interrupted: {} of {} points are done\n", rows, sweep.points());
    return Exit::kInterrupted;
  }
  if (failed > 0) {
    // The table has told them all.
    const std::string first = format == "table" ? "" : "; the first: " + first_error;
    terminal.err << fmt::format("{} of {} points failed{}\n", failed, sweep.points(), first);
    return Exit::kSweepHasFailures;
  }
  if (!values->contains("strict") || outside.empty()) return Exit::kOk;
  terminal.err << "outside the calibrated domain: " << outside << "\n";
  return Exit::kOutsideDomain;
}

}  // namespace steptime
