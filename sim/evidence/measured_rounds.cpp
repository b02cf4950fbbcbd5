#include "sim/evidence/measured_rounds.h"

#include "sim/config/config.h"
#include "sim/core/error.h"
#include "sim/evidence/measurements.h"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr const char* kFormat = "steptime-measurements";

const Params& file_params() {
  static const Params params{
      {.key = "format", .kind = Kind::kText, .words = {kFormat}},
      {.key = "version", .kind = Kind::kInteger, .range = {.low = 1, .high = 1}},
      {.key = "nodes", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e7}},
      {.key = "provenance", .kind = Kind::kObject},
      {.key = "series", .kind = Kind::kList}};
  return params;
}
const Params& series_params() {
  static const Params params{
      {.key = "operation", .kind = Kind::kText},
      {.key = "ranks", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e9}},
      {.key = "sizes", .kind = Kind::kList}};
  return params;
}
const Params& size_params() {
  static const Params params{
      {.key = "bytes", .kind = Kind::kInteger, .range = {.low = 0, .high = 9e18}},
      {.key = "seconds", .kind = Kind::kList}};
  return params;
}

SizeTimes size_of(const Config& c) {
  SizeTimes size{c.get<std::int64_t>("bytes"), {}};
  const Json& list = c.raw("seconds");
  if (!list.is_array())
    c.fail("seconds", fmt::format("expected a list of times, got {}", brief(list)));
  if (list.empty()) c.fail("seconds", "expected at least one time, got none");
  for (const Json& time : list) {
    if (!time.is_number() || !(time.get<double>() > 0) || !(time.get<double>() < 1e6))
      c.fail("seconds", fmt::format("expected positive times in seconds, got {}", brief(time)));
    if (time.get<double>() < 1e-12)
      c.fail("seconds", fmt::format("expected times of at least 1 ps, got {}", brief(time)));
    size.seconds.push_back(time.get<double>());
  }
  return size;
}

MeasuredSeries series_of(const Config& c) {
  MeasuredSeries series{c.get<std::string>("operation"), c.get<std::int64_t>("ranks"), {}};
  for (const Config& size : c.objects("sizes", size_params()))
    series.sizes.push_back(size_of(size));
  return series;
}

}  // namespace

Json rounds_json(const MeasuredRounds& rounds) {
  Json list = Json::array();
  for (const MeasuredSeries& series : rounds.series) {
    Json sizes = Json::array();
    for (const SizeTimes& size : series.sizes)
      sizes.push_back({{"bytes", size.bytes}, {"seconds", size.seconds}});
    list.push_back({{"operation", series.operation}, {"ranks", series.ranks}, {"sizes", sizes}});
  }
  return {{"format", kFormat},
          {"version", 1},
          {"nodes", rounds.nodes},
          {"provenance", rounds.provenance},
          {"series", list}};
}

MeasuredRounds parse_rounds(const std::string& text, const std::string& file) {
  const Config root(std::make_shared<Document>(Document{file, parse_json(text, file)}),
                    file_params());
  root.check_values();
  MeasuredRounds rounds{root.get<std::int64_t>("nodes"), root.raw("provenance"), {}};
  for (const Config& series : root.objects("series", series_params()))
    rounds.series.push_back(series_of(series));
  if (rounds.series.empty()) root.fail("series", "expected at least one, got none");
  return rounds;
}

bool is_rounds(const std::string& text) {
  // In an ordered file the format is the first key.
  return text.substr(0, 200).find(fmt::format("\"{}\"", kFormat)) != std::string::npos;
}

namespace {

bool can_be(const MeasuredTable& table, const std::string& operation) {
  if (operation.empty()) return true;
  if (!table.operation.empty()) return table.operation == operation;
  const bool adds_up =
      operation == "all-reduce" || operation == "reduce" || operation == "reduce-scatter";
  return !table.reduces || *table.reduces == adds_up;
}

std::string names_of(const std::vector<MeasuredTable>& tables) {
  std::string names;
  for (const MeasuredTable& table : tables)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", table.name());
  return names;
}

/// The tables of a file that are of what is asked.
std::vector<MeasuredTable> asked_tables(const std::string& path, const TableRequest& request) {
  const std::vector<MeasuredTable> tables = parse_tables(read_file(path), path);
  std::vector<MeasuredTable> asked;
  for (const MeasuredTable& table : tables) {
    if (can_be(table, request.operation)) asked.push_back(table);
  }
  if (asked.empty()) {
    const bool is_named = !tables[0].operation.empty() || !tables[0].reduces;
    throw InputError(fmt::format("{}: --operation: expected {}, got {}{}", path, request.operation,
                                 names_of(tables),
                                 is_named             ? ""
                                 : *tables[0].reduces ? " that adds up"
                                                      : " that adds nothing up"));
  }
  if (request.ranks == 0) return asked;
  std::erase_if(asked, [&](const MeasuredTable& table) {
    return table.ranks > 0 && table.ranks != request.ranks;
  });
  if (asked.empty()) {
    throw InputError(fmt::format("{}: --ranks: expected a table of {} ranks, got {}", path,
                                 request.ranks, names_of(tables)));
  }
  return asked;
}

}  // namespace

TableRounds rounds_of_tables(std::span<const std::string> paths, const TableRequest& request) {
  std::map<std::int64_t, std::vector<double>> times;
  std::map<std::vector<std::pair<std::int64_t, double>>, std::string> known_rounds;
  std::optional<MeasuredTable> before;
  for (const std::string& path : paths) {
    for (const MeasuredTable& table : asked_tables(path, request)) {
      if (before && (before->operation != table.operation || before->ranks != table.ranks)) {
        throw InputError(fmt::format(
            "{}: expected tables of one operation and as many ranks, got {} and {}; --operation "
            "and --ranks choose",
            path, before->name(), table.name()));
      }
      before = table;
      std::vector<std::pair<std::int64_t, double>> round;
      for (const Measurement& m : table.rows) {
        times[m.bytes].push_back(m.time_us * 1e-6);
        round.emplace_back(m.bytes, m.time_us);
      }
      // A copy would make intervals as narrow as two rounds that agree.
      const auto [known, is_new] = known_rounds.emplace(std::move(round), path);
      if (!is_new) {
        throw InputError(
            fmt::format("{}: the same sizes and times as a table of {}, expected "
                        "another round",
                        path, known->second));
      }
    }
  }
  TableRounds rounds{request.ranks > 0 ? request.ranks : before->ranks,
                     request.nodes > 0 ? request.nodes : before->nodes,
                     {}};
  if (request.nodes > 0 && before->nodes > 0 && request.nodes != before->nodes) {
    throw InputError(fmt::format("{}: --nodes: expected {}, as the devices are on, got {}",
                                 paths.back(), before->nodes, request.nodes));
  }
  const auto& [first, of_first] = *times.begin();
  const std::size_t count = of_first.size();
  for (auto& [bytes, seconds] : times) {
    if (seconds.size() != count) {
      throw InputError(fmt::format("{}: expected {} rounds of {} B, as of {} B, got {}",
                                   paths.back(), count, bytes, first, seconds.size()));
    }
    rounds.sizes.push_back({bytes, std::move(seconds)});
  }
  return rounds;
}

}  // namespace steptime
