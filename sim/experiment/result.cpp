#include "sim/experiment/result.h"

#include "sim/core/error.h"
#include "sim/experiment/figures.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

/// Sweeps write the same few texts, which need no escape, millions of times.
bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
}

/// What CSV has, too.
bool is_cell(const Figure& figure) {
  return figure.list == nullptr && (figure.raw == nullptr || figure.text != nullptr);
}

}  // namespace

double Result::figure(std::string_view key) const {
  std::vector<std::string_view> numbers;
  for (const Figure& figure : figures()) {
    if (figure.number == nullptr && figure.integer == nullptr) continue;
    numbers.push_back(figure.key);
    if (figure.key != key) continue;
    if (const auto value = value_of(figure, *this)) return *value;
    throw InputError(fmt::format("\"{}\" is not known for this run", key));
  }
  throw InputError(
      fmt::format("\"{}\" is no figure of a result; known: {}", key, fmt::join(numbers, ", ")));
}

void append_json(std::string& text, const Result& result, const Details* details) {
  fmt::basic_memory_buffer<char, 1024> row;
  const auto add = [&](std::string_view key, const auto& value) {
    fmt::format_to(fmt::appender(row), FMT_COMPILE("\"{}\":{},"), key, value);
  };
  for (const Figure& figure : figures()) {
    if (figure.raw != nullptr) {
      const std::string value = figure.raw(result);
      if (!value.empty()) add(figure.key, value);
    } else if (figure.number != nullptr) {
      if (const auto value = figure.number(result)) add(figure.key, *value);
    } else if (figure.integer != nullptr) {
      if (const auto value = figure.integer(result)) add(figure.key, *value);
    } else if (figure.text != nullptr) {
      const std::string value = figure.text(result);
      if (is_plain(value))
        fmt::format_to(fmt::appender(row), FMT_COMPILE("\"{}\":\"{}\","), figure.key, value);
      else if (!value.empty())
        add(figure.key, Json(value).dump());
    } else {
      const Json value = figure.list(result, details);
      if (!value.is_null()) add(figure.key, value.dump());
    }
  }
  text.append(row.data(), row.size() - 1);  // without the last comma
}

Json full_json(const Result& result, std::span<const SentBucket> buckets, const Json& config) {
  std::string text = "{";
  const Details details{buckets, config};
  append_json(text, result, &details);
  return Json::parse(text += '}');
}

std::span<const std::string_view> result_keys() {
  static const auto keys = [] {
    std::vector<std::string_view> all;
    for (const Figure& figure : figures()) {
      if (is_cell(figure)) all.push_back(figure.key);
    }
    return all;
  }();
  return keys;
}

std::vector<std::string> csv_cells(const Result& result) {
  std::vector<std::string> cells;
  for (const Figure& figure : figures()) {
    if (!is_cell(figure)) continue;
    const auto value = value_of(figure, result);
    if (figure.text != nullptr)
      cells.push_back(figure.text(result));
    else
      cells.push_back(value ? fmt::format("{}", *value) : "");
  }
  return cells;
}

}  // namespace steptime
