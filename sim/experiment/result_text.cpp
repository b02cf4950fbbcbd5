#include "sim/experiment/result_text.h"

#include "sim/config/json_text.h"
#include "sim/config/word_list.h"
#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/experiment/figures.h"

#include <string>
#include <string_view>
#include <vector>

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

/// What CSV has, too.
bool is_cell(const Figure& figure) {
  return figure.list == nullptr && (figure.raw == nullptr || figure.text != nullptr);
}

}  // namespace

double figure_of(const Result& result, std::string_view key) {
  std::vector<std::string> numbers;
  for (const Figure& figure : figures()) {
    if (figure.number == nullptr && figure.integer == nullptr) continue;
    numbers.emplace_back(figure.key);
    if (figure.key != key) continue;
    if (const auto value = value_of(figure, result)) return *value;
    throw InputError(fmt::format("\"{}\" is not known for this run", key));
  }
  const std::string guess = closest(key, numbers);
  throw InputError(fmt::format("{} is no figure of a result{}; known: {}", brief(std::string(key)),
                               guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess),
                               listed(numbers)));
}

void append_json(std::string& text, const Result& result, const Details* details) {
  static const auto keys = [] {
    std::vector<std::string> all;
    for (const Figure& figure : figures())
      all.push_back(fmt::format(",\"{}\":", figure.key));
    return all;
  }();
  const std::size_t before = text.size();
  const std::span<const Figure> all = figures();
  // All lists are details, causes or jobs: most rows of a sweep have none.
  const bool has_lists =
      details != nullptr || result.embedded || !result.attribution.empty() || !result.jobs.empty();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Figure& figure = all[i];
    const std::size_t start = text.size();
    const std::string_view key = std::string_view(keys[i]).substr(start == before ? 1 : 0);
    if (figure.number != nullptr) {
      if (const auto value = figure.number(result)) append_number(text += key, *value);
    } else if (figure.raw != nullptr) {
      text += key;
      const std::size_t value = text.size();
      figure.raw(text, result);
      if (text.size() == value) text.resize(start);
    } else if (figure.integer != nullptr) {
      if (const auto value = figure.integer(result)) append_number(text += key, *value);
    } else if (figure.interval != nullptr) {
      if (const auto ends = figure.interval(result)) {
        append_number((text += key) += '[', ends->low);
        append_number(text += ',', ends->high);
        text += ']';
      }
    } else if (figure.text != nullptr) {
      if (const auto value = figure.text(result); !value.empty()) append_text(text += key, value);
    } else if (has_lists) {
      if (const Json value = figure.list(result, details); !value.is_null())
        (text += key) += value.dump();
    }
  }
}

Json full_json(const Result& result, std::span<const SentBucket> buckets, const Json& config,
               const NamedDigests& inputs) {
  std::string text = "{";
  const Details details{buckets, config, inputs};
  append_json(text, result, &details);
  return Json::parse(text += '}');
}

std::span<const Column> csv_columns() {
  static const auto columns = [] {
    std::vector<Column> all;
    for (const Figure& figure : figures()) {
      if (!is_cell(figure)) continue;
      const std::string key(figure.key);
      if (figure.interval == nullptr) {
        all.push_back({key, figure.key});
        continue;
      }
      for (const std::size_t end : {0U, 1U}) {  // of step_time_interval_s: step_time_low_s
        const std::string name =
            boost::algorithm::replace_first_copy(key, "interval", end == 0 ? "low" : "high");
        all.push_back({name, figure.key, end});
      }
    }
    return all;
  }();
  return columns;
}

std::vector<std::string> csv_cells(const Result& result) {
  std::vector<std::string> cells;
  const auto add = [&](const std::optional<double>& value) {
    cells.push_back(value ? fmt::format("{}", *value) : "");
  };
  for (const Figure& figure : figures()) {
    if (!is_cell(figure)) continue;
    if (figure.interval != nullptr) {
      const auto ends = figure.interval(result);
      add(ends ? std::optional(ends->low) : std::nullopt);
      add(ends ? std::optional(ends->high) : std::nullopt);
    } else if (figure.text != nullptr) {
      cells.push_back(figure.text(result));
    } else {
      add(value_of(figure, result));
    }
  }
  return cells;
}

}  // namespace steptime
