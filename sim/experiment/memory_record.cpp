#include "sim/experiment/memory_record.h"

#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/config/digest.h"
#include "sim/config/input_files.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params& memory_row_params() {
  static const Params params{{.key = "id", .kind = Kind::kText},
                             {.key = "group", .kind = Kind::kText},
                             {.key = "error_pct",
                              .kind = Kind::kNumber,
                              .range = {.low = -100, .high = 1e9, .low_is_allowed = false}}};
  return params;
}

/// The shipped file.
struct KeptMemory {
  explicit KeptMemory(const std::string& path) : KeptMemory(path, text_at(path)) {}
  KeptMemory(const std::string& path, const std::string& text)
      : record(parse_memory(text, path)), file(path, sha1_of(text)) {}
  MemoryRecord record;
  KeptInput file;
};

}  // namespace

const MemoryRecord& MemoryRecord::shipped() {
  static const KeptMemory kept((data_dir() / "traces" / "memory.jsonl").string());
  kept.file.use();
  return kept.record;
}

Interval MemoryRecord::interval(double bytes) const {
  double width = 0;
  for (const MemoryRow& row : rows_)
    width = std::max(width, std::abs(std::log1p(row.error_pct / 100)));
  return {bytes / std::exp(width), bytes * std::exp(width)};
}

MemoryRecord MemoryRecord::without(const std::string& group) const {
  std::vector<MemoryRow> others;
  std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(others),
               [&](const MemoryRow& row) { return row.group != group; });
  return MemoryRecord(std::move(others));
}

std::string memory_text(std::span<const MemoryRow> rows) {
  std::string text;
  for (const MemoryRow& row : rows) {
    const Json json{
        {"id", row.id}, {"group", row.group}, {"error_pct", std::round(row.error_pct * 1e2) / 1e2}};
    text += json.dump() + "\n";
  }
  return text;
}

std::vector<MemoryRow> parse_memory(const std::string& text, const std::string& file) {
  std::vector<MemoryRow> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string place = fmt::format("{}:{}", file, rows.size() + 1);
    const Config row(std::make_shared<Document>(Document{place, parse_json(line, place)}),
                     memory_row_params());
    rows.push_back({.id = row.get<std::string>("id"),
                    .group = row.get<std::string>("group"),
                    .error_pct = row.get<double>("error_pct")});
  }
  return rows;
}

}  // namespace steptime
