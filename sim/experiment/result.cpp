#include "sim/experiment/result.h"

#include "sim/config/json_text.h"
#include "sim/core/error.h"
#include "sim/experiment/figures.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

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
  static const auto keys = [] {
    std::vector<std::string> all;
    for (const Figure& figure : figures())
      all.push_back(fmt::format("\"{}\":", figure.key));
    return all;
  }();
  const std::size_t before = text.size();
  const std::span<const Figure> all = figures();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Figure& figure = all[i];
    const std::size_t start = text.size();
    if (figure.raw != nullptr) {
      text += keys[i];
      const std::size_t value = text.size();
      figure.raw(text, result);
      if (text.size() == value) text.resize(start);
    } else if (figure.number != nullptr) {
      if (const auto value = figure.number(result)) append_number(text += keys[i], *value);
    } else if (figure.integer != nullptr) {
      if (const auto value = figure.integer(result)) append_number(text += keys[i], *value);
    } else if (figure.text != nullptr) {
      if (const auto value = figure.text(result); !value.empty())
        append_text(text += keys[i], value);
    } else if (const Json value = figure.list(result, details); !value.is_null()) {
      (text += keys[i]) += value.dump();
    }
    if (text.size() > start) text += ',';
  }
  if (text.size() > before) text.pop_back();  // the last comma
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
