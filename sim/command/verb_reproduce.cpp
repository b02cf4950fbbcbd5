#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/words.h"
#include "sim/evidence/accuracy_page.h"
#include "sim/evidence/claims_table.h"
#include "sim/evidence/memory_table.h"
#include "sim/evidence/record_table.h"
#include "sim/evidence/row_claims.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace po = boost::program_options;

namespace {

void write_maps(const std::vector<SizeMap>& maps, const std::string& format, std::ostream& out) {
  if (format == "csv" || format == "markdown")
    throw InputError(
        fmt::format("--maps: {} has no place for maps; known: table, json, jsonl", format));
  if (format == "table") {
    out << size_maps_text(maps);
    return;
  }
  Json list = Json::array();
  for (const SizeMap& map : maps) {
    if (format == "jsonl") out << map.json().dump() << "\n";
    list.push_back(map.json());
  }
  if (format == "json") out << list.dump(2) << "\n";
}

/// `option`: that asked for it.
void write_steps(const char* option, const std::vector<RecordedStep>& steps,
                 std::string (*table)(std::span<const RecordedStep>), const std::string& format,
                 std::ostream& out) {
  if (format == "table") {
    out << table(steps);
    return;
  }
  if (format != "jsonl")
    throw InputError(fmt::format("{}: expected --format table or jsonl, got {}", option, format));
  std::vector<RecordRow> rows;
  rows.reserve(steps.size());
  for (const RecordedStep& step : steps)
    rows.push_back(step.row);
  out << record_text(rows);
}

void write_memory(const std::vector<RecordedMemory>& memory, const std::string& format,
                  std::ostream& out) {
  if (format == "table") {
    out << memory_table(memory);
    return;
  }
  if (format != "jsonl")
    throw InputError(fmt::format("--memory: expected --format table or jsonl, got {}", format));
  std::vector<MemoryRow> rows;
  rows.reserve(memory.size());
  for (const RecordedMemory& each : memory)
    rows.push_back(each.row);
  out << memory_text(rows);
}

}  // namespace

Exit verb_reproduce(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  po::options_description options("options");
  std::string folder;
  options.add_options()("format", po::value(&format)->default_value("table"),
                        "table, json, jsonl, csv, or markdown: the page docs/accuracy.md")(
      "from", po::value(&folder), "folder of experiments with claims; default: the shipped ones")(
      "record",
      "only the published steps, by kind of prediction: what domains and intervals are made of; "
      "jsonl: traces/record.jsonl")(
      "layouts",
      "only the published rows of layouts, by kind of prediction: what their domains and intervals "
      "are made of; jsonl: traces/layouts.jsonl")("memory",
                                                  "only the published rows of memory, by group, "
                                                  "with the interval that the rows of other groups "
                                                  "give each; jsonl: traces/memory.jsonl")(
      "collectives",
      "only the measured tables of collectives, with their errors; "
      "jsonl: traces/collectives.jsonl")(
      "maps", "only the maps of what is the fastest by size, which table shows below the figures");
  const auto values = parse_arguments(verb, args, options, {"FILTER?"}, terminal);
  if (!values) return Exit::kOk;
  check_word("--format", format,
             std::vector<std::string>{"table", "json", "jsonl", "csv", "markdown"});
  std::vector<std::string> only;
  for (const char* option : {"record", "layouts", "memory", "collectives", "maps"}) {
    if (values->contains(option)) only.push_back(fmt::format("--{}", option));
  }
  if (only.size() > 1)
    throw InputError(fmt::format("{}: expected one of them", fmt::join(only, ", ")));
  const std::string filter =
      values->contains("FILTER") ? (*values)["FILTER"].as<std::string>() : "";
  if (values->contains("maps")) {
    const std::vector<SizeMap> maps = reproduce_maps(filter, folder, until_interrupted(terminal));
    if (maps.empty())
      throw InputError(filter.empty()
                           ? "no experiment has a map"
                           : fmt::format("no map's paper or id contains {}", brief(filter)));
    write_maps(maps, format, terminal.out);
    return Exit::kOk;
  }
  if (values->contains("collectives")) {
    const auto tables = recorded_tables(filter, folder, until_interrupted(terminal));
    if (tables.empty()) throw InputError("no claim is a measured table");
    if (format != "table" && format != "jsonl")
      throw InputError(
          fmt::format("--collectives: expected --format table or jsonl, got {}", format));
    terminal.out << (format == "jsonl" ? collective_record_text(tables)
                                       : collective_record_table(tables));
    return Exit::kOk;
  }
  if (values->contains("record")) {
    const auto steps = recorded_steps(filter, folder, until_interrupted(terminal));
    if (steps.empty()) throw InputError("no claim is a published step");
    write_steps("--record", steps, record_table, format, terminal.out);
    return Exit::kOk;
  }
  if (values->contains("layouts")) {
    const auto steps = recorded_rows(filter, folder, until_interrupted(terminal));
    if (steps.empty()) throw InputError("no claim is a file of rows");
    write_steps("--layouts", steps, layout_record_table, format, terminal.out);
    return Exit::kOk;
  }
  if (values->contains("memory")) {
    const auto memory = recorded_memory(filter, folder, until_interrupted(terminal));
    if (memory.empty()) throw InputError("no claim is a file of rows with memory");
    write_memory(memory, format, terminal.out);
    return Exit::kOk;
  }
  const std::vector<ClaimRow> rows = reproduce(filter, folder, until_interrupted(terminal));
  if (rows.empty())
    throw InputError(fmt::format("no claim's paper or id contains {}", brief(filter)));
  if (format == "table") {
    terminal.out << claims_table(rows)
                 << row_groups_text(rows, rows_left_out(filter, folder), row_effects(rows, folder))
                 << rankings_text(row_rankings(rows, folder))
                 << size_maps_text(reproduce_maps(filter, folder, until_interrupted(terminal)));
  } else if (format == "markdown") {
    terminal.out << accuracy_page(
        {.rows = rows,
         .left_out = rows_left_out(filter, folder),
         .effects = row_effects(rows, folder),
         .rankings = row_rankings(rows, folder),
         .layouts = recorded_rows(filter, folder, until_interrupted(terminal)),
         .memory = recorded_memory(filter, folder, until_interrupted(terminal)),
         .maps = reproduce_maps(filter, folder, until_interrupted(terminal)),
         .steps = recorded_steps(filter, folder, until_interrupted(terminal)),
         .collectives = recorded_tables(filter, folder, until_interrupted(terminal))});
  } else if (format == "csv") {
    terminal.out << claims_csv(rows);
  } else if (format == "json") {
    Json list = Json::array();
    for (const ClaimRow& row : rows)
      list.push_back(row.json());
    terminal.out << list.dump(2) << "\n";
  } else {
    for (const ClaimRow& row : rows)
      terminal.out << row.json().dump() << "\n";
  }
  // A miss whose reason is on record is a known limit; another one is news.
  const bool news = std::any_of(rows.begin(), rows.end(),
                                [](const ClaimRow& row) { return !row.ok && row.reason.empty(); });
  return news ? Exit::kComparisonFailed : Exit::kOk;
}

}  // namespace steptime
