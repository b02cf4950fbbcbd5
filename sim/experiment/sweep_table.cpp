#include "sim/experiment/sweep_table.h"

#include "sim/core/text_table.h"
#include "sim/experiment/figures.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// The time to the target is the median of the seeds, beside the fastest and slowest of them.
constexpr std::array kColumns{Shown{"step_time_s", "step ms", 1e3, 3},
                              Shown{"exposed_comm_s", "exposed ms", 1e3, 3},
                              Shown{"messages", "messages"},
                              Shown{"throughput_samples_per_s", "samples/s", 1, 1},
                              Shown{"speedup", "speedup", 1, 2},
                              Shown{"scaling_efficiency", "efficiency %", 100, 1},
                              Shown{"epoch_time_s", "epoch s", 1, 1},
                              Shown{"final_accuracy", "accuracy %", 100, 1},
                              Shown{"time_to_target_s", "target s", 1, 1},
                              Shown{"time_to_target_min_s", "fastest s", 1, 1},
                              Shown{"time_to_target_max_s", "slowest s", 1, 1}};

std::vector<std::string> params_of(const Sweep& sweep, std::int64_t point) {
  std::vector<std::string> cells;
  for (const Json& value : sweep.params(point))
    cells.push_back(swept_value(value));
  return cells;
}

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

}  // namespace

std::string swept_name(const std::string& pointer) {
  std::string name = pointer;
  if (name.ends_with("/type")) name.resize(name.size() - 5);
  return name.substr(name.rfind('/') + 1);
}

std::string swept_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("type")) return swept_value(value["type"]);
  return value.dump();
}

void SweepTable::add(const SweepRow& row) {
  Row cells{.params = params_of(sweep_, row.point)};
  for (const Shown& column : kColumns)
    cells.figures.push_back(row.result ? shown(column, *row.result) : "");
  cells.figures.emplace_back();
  if (!row.result) {
    const auto [known, is_new] = numbers_.emplace(row.error, numbers_.size() + 1);
    if (is_new) notes_ += fmt::format("\n[{}] {}\n", known->second, row.error);
    cells.figures.back() = fmt::format("[{}]", known->second);
  }
  rows_.push_back(std::move(cells));
}

std::string SweepTable::text() const {
  std::vector<std::string> head;
  for (const std::string& pointer : sweep_.pointers())
    head.push_back(swept_name(pointer));
  std::vector<std::size_t> used;
  for (std::size_t c = 0; c <= kColumns.size(); ++c) {
    if (std::all_of(rows_.begin(), rows_.end(),
                    [&](const Row& row) { return row.figures[c].empty(); }))
      continue;
    used.push_back(c);
    head.emplace_back(c < kColumns.size() ? kColumns[c].name : "error");
  }
  TextTable table(head);
  for (const Row& row : rows_) {
    std::vector<std::string> cells = row.params;
    for (const std::size_t c : used)
      cells.push_back(row.figures[c]);
    table.add(std::move(cells));
  }
  return table.text() + notes_;
}

std::vector<std::string> sweep_csv_head(const Sweep& sweep) {
  std::vector<std::string> cells{"point"};
  for (const std::string& pointer : sweep.pointers())
    cells.push_back(pointer);
  for (const std::string_view key : result_keys())
    cells.emplace_back(key);
  cells.emplace_back("error");
  return cells;
}

std::vector<std::string> sweep_csv_cells(const Sweep& sweep, const SweepRow& row) {
  std::vector<std::string> cells{std::to_string(row.point)};
  std::vector<std::string> figures(result_keys().size());
  if (row.result) figures = csv_cells(*row.result);
  for (std::string& cell : params_of(sweep, row.point))
    cells.push_back(std::move(cell));
  for (std::string& cell : figures)
    cells.push_back(std::move(cell));
  cells.push_back(joined(row.error));
  return cells;
}

}  // namespace steptime
