#include "sim/sweeps/table.h"

#include "sim/core/text_table.h"
#include "sim/experiment/figures.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/track_record.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// What most rows say, which then is no column.
struct Usual {
  std::string_view key;
  std::string_view text;
};
constexpr std::array kUsual{Usual{"exposed_input_s", "0.000"}, Usual{"fits", "yes"}};

/// The time to the target is the median of the seeds, beside the fastest and slowest of them.
constexpr std::array kColumns{Shown{"step_time_s", "step ms", 1e3, 3},
                              Shown{"exposed_comm_s", "exposed ms", 1e3, 3},
                              Shown{"exposed_input_s", "input ms", 1e3, 3},
                              Shown{"messages", "messages"},
                              Shown{"throughput_samples_per_s", "samples/s", 1, 1},
                              Shown{"speedup", "speedup", 1, 2},
                              Shown{"scaling_efficiency", "efficiency %", 100, 1},
                              Shown{"epoch_time_s", "epoch s", 1, 1},
                              Shown{"memory_bytes", "memory GB", 1e-9, 2},
                              Shown{"fits", "fits"},
                              Shown{"final_accuracy", "accuracy %", 100, 1},
                              Shown{"time_to_target_s", "target s", 1, 1},
                              Shown{"time_to_target_min_s", "fastest s", 1, 1},
                              Shown{"time_to_target_max_s", "slowest s", 1, 1}};

std::vector<std::string> params_of(const Sweep& sweep, std::int64_t point) {
  std::vector<std::string> cells;
  for (const SweptValue& value : sweep.values(point))
    cells.push_back(value.label);
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

/// A row's figure, as `run` would show it.
std::string shown(const Shown& how, const Json& row) {
  const auto value = row.find(how.key);
  if (value != row.end() && value->is_boolean()) return value->get<bool>() ? "yes" : "no";
  if (value != row.end())
    return fmt::format("{:.{}f}{}", value->get<double>() * how.factor, how.decimals, how.unit);
  const bool misses = row.contains("final_accuracy") && how.key.starts_with("time_to_target");
  return misses ? "never" : "";
}

std::string figure_cell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return Validity::text(value);
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
}

}  // namespace

void SweepTable::add(const Json& row) {
  Row cells{.params = params_of(sweep_, row.at("point").get<std::int64_t>())};
  for (const Shown& column : kColumns)
    cells.figures.push_back(shown(column, row));
  cells.figures.emplace_back();
  if (const auto error = row.find("error"); error != row.end()) {
    const auto text = error->get<std::string>();
    const auto [known, is_new] = numbers_.emplace(text, numbers_.size() + 1);
    if (is_new) notes_ += fmt::format("\n[{}] {}\n", known->second, text);
    cells.figures.back() = fmt::format("[{}]", known->second);
  }
  rows_.push_back(std::move(cells));
  const auto domain = row.find("domain");
  if (domain == row.end() || domain->value("status", "") == "validated") return;
  if (unvalidated_++ == 0) why_ = Validity::text(*domain);
}

std::string SweepTable::text() const {
  std::vector<std::string> head;
  for (const std::string& pointer : sweep_.pointers())
    head.push_back(swept_name(pointer));
  std::vector<std::size_t> used;
  for (std::size_t c = 0; c <= kColumns.size(); ++c) {
    const auto usual = std::find_if(kUsual.begin(), kUsual.end(), [&](const Usual& each) {
      return c < kColumns.size() && kColumns[c].key == each.key;
    });
    if (std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
          return row.figures[c].empty() || (usual != kUsual.end() && row.figures[c] == usual->text);
        }))
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
  const std::string worth = unvalidated_ == 0
                                ? ""
                                : fmt::format(
                                      "\n{} of {} points are not validated by measurements; the "
                                      "first is {}\n",
                                      unvalidated_, rows_.size(), why_);
  return table.text() + notes_ + worth;
}

std::vector<std::string> sweep_csv_head(const Sweep& sweep) {
  std::vector<std::string> cells{"point"};
  for (const std::string& pointer : sweep.pointers())
    cells.push_back(pointer);
  for (const Column& column : csv_columns())
    cells.push_back(column.name);
  cells.emplace_back("error");
  return cells;
}

std::vector<std::string> sweep_csv_cells(const Sweep& sweep, const Json& row) {
  const auto point = row.at("point").get<std::int64_t>();
  std::vector<std::string> cells{std::to_string(point)};
  for (std::string& cell : params_of(sweep, point))
    cells.push_back(std::move(cell));
  for (const Column& column : csv_columns()) {
    const auto value = row.find(column.key);
    if (value == row.end())
      cells.emplace_back();
    else
      cells.push_back(figure_cell(column.end ? value->at(*column.end) : *value));
  }
  cells.push_back(joined(row.value("error", "")));
  return cells;
}

}  // namespace steptime
