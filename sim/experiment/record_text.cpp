// The file of the record: a row a line, as JSON.
#include "sim/config/config.h"
#include "sim/experiment/track_record.h"

#include <cmath>
#include <memory>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params& row_params() {
  static const Params params = [] {
    Params keys{{.key = "id", .kind = Kind::kText, .help = "of the claim"},
                {.key = "testbed", .kind = Kind::kText}};
    for (const char* name : attribute_names())
      keys.push_back({.key = name, .kind = Kind::kText});
    const Range count{.low = 1, .high = 1e12};
    keys.push_back({.key = "rate_gbps", .kind = Kind::kNumber, .range = kPositive});
    for (const char* key : {"workers", "gpus_per_node", "samples"})
      keys.push_back({.key = key, .kind = Kind::kInteger, .range = count});
    keys.push_back({.key = "latency_us", .kind = Kind::kNumber, .range = kNotNegative});
    keys.push_back(
        {.key = "share", .kind = Kind::kNumber, .range = {.low = kLeastShare, .high = 2}});
    for (const char* key : {"error_pct", "unexplained_pct"}) {
      keys.push_back({.key = key,
                      .kind = Kind::kNumber,
                      .range = {.low = -100, .high = 1e9, .low_is_allowed = false}});
    }
    return keys;
  }();
  return params;
}

}  // namespace

std::string record_text(std::span<const RecordRow> rows) {
  std::string text;
  for (const RecordRow& row : rows) {
    Json json{{"id", row.id}, {"testbed", row.testbed}};
    for (std::size_t a = 0; a < kAttributes; ++a)
      json[attribute_names()[a]] = row.kind.words[a].text();
    json["rate_gbps"] = std::round(row.kind.rate * 8e-9 * 1e4) / 1e4;
    json["workers"] = row.workers;
    json["gpus_per_node"] = row.gpus_per_node;
    json["samples"] = row.samples;
    json["latency_us"] = std::round(row.latency_us * 1e3) / 1e3;
    json["share"] = std::round(row.share * 1e4) / 1e4;
    json["error_pct"] = std::round(row.error_pct * 1e2) / 1e2;
    json["unexplained_pct"] = std::round(row.unexplained_pct * 1e2) / 1e2;
    text += json.dump() + "\n";
  }
  return text;
}

std::vector<RecordRow> parse_record(const std::string& text, const std::string& file) {
  std::vector<RecordRow> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string place = fmt::format("{}:{}", file, rows.size() + 1);
    const Config row(std::make_shared<Document>(Document{place, parse_json(line, place)}),
                     row_params());
    KindOfStep kind;
    for (std::size_t a = 0; a < kAttributes; ++a)
      kind.words[a] = row.get<std::string>(attribute_names()[a]);
    kind.rate = row.get<double>("rate_gbps") * 1e9 / 8;
    rows.push_back({.id = row.get<std::string>("id"),
                    .testbed = row.get<std::string>("testbed"),
                    .kind = kind,
                    .workers = row.get<std::int64_t>("workers"),
                    .gpus_per_node = row.get<std::int64_t>("gpus_per_node"),
                    .samples = row.get<std::int64_t>("samples"),
                    .latency_us = row.get<double>("latency_us"),
                    .share = row.get<double>("share"),
                    .error_pct = row.get<double>("error_pct"),
                    .unexplained_pct = row.get<double>("unexplained_pct")});
  }
  return rows;
}

}  // namespace steptime
