#include "sim/command/output.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/core/text_table.h"
#include "sim/experiment/point_runner.h"
#include "sim/experiment/run_sweep.h"
#include "sim/experiment/sweep_table.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace po = boost::program_options;

void check_sets(const Sweep& sweep, std::span<const std::string> sets) {
  for (const std::string& set : sets) {
    const std::string pointer = set.substr(0, set.find('='));
    for (const std::string& swept : sweep.pointers()) {
      if (pointer == swept) {
        throw InputError(fmt::format("--set {}: the sweep sets it; set /sweep/... instead", set));
      }
    }
  }
}

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
  check_sets(sweep, sets);
  const std::string name = PointRunner(sweep).experiment().name;
  std::optional<OutputFile> jsonl;
  std::optional<OutputFile> csv;
  if (!folder.empty()) {
    create_folder(folder);
    jsonl.emplace(folder + "/" + name + ".jsonl");
    csv.emplace(folder + "/" + name + ".csv");
    csv->write(csv_row(sweep_csv_head(sweep)));
  }
  spdlog::info("{}: {} points, {} threads", name, sweep.points(), threads);
  SweepTable table(sweep);
  if (format == "csv") terminal.out << csv_row(sweep_csv_head(sweep));
  if (format == "json") terminal.out << "[\n";
  std::string outside;
  std::string first_error;
  std::int64_t rows = 0;
  std::int64_t failed = 0;
  {
    ProgressLine progress(terminal);
    SweepOptions run{
        .threads = threads, .full = values->contains("full"), .stop = terminal.interrupted};
    run.on_row = [&](const SweepRow& row, std::string_view line) {
      ++rows;
      if (row.result && row.result->domain != "inside" && outside.empty()) {
        outside = row.result->domain;
      }
      if (!row.result && first_error.empty()) first_error = row.error;
      if (jsonl) jsonl->write(line);
      if (csv) csv->write(csv_row(sweep_csv_cells(sweep, row)));
      if (format == "table") table.add(row);
      if (format == "jsonl") terminal.out << line;
      if (format == "csv") terminal.out << csv_row(sweep_csv_cells(sweep, row));
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
