#include "models/importers/profile_text.h"

#include "models/layer_table.h"
#include "sim/core/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kMostSeconds = 1e6;
constexpr double kMostParams = 0x1p50;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string_view ProfileLine::message() const {
  const bool logged = text_.size() > 5 && text_.find_first_of("IWEF") == 0 &&
                      std::all_of(text_.begin() + 1, text_.begin() + 5, is_digit);
  const auto end = text_.find("] ");
  return logged && end != std::string_view::npos ? text_.substr(end + 2) : text_;
}

void ProfileLine::fail(std::string_view expected, std::string_view got) const {
  throw InputError(fmt::format("{}: line {}: expected {}, got {}", *file_, number_, expected,
                               brief(std::string(got))));
}

double ProfileLine::number(std::string_view field, std::string_view expected) const {
  const std::string_view text = trimmed(field);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0) {
    fail(expected, field);
  }
  return value;
}

Duration ProfileLine::time(std::string_view field, std::string_view unit) const {
  const auto expected = fmt::format("a time in {} from 0 to {:g} s", unit, kMostSeconds);
  const double seconds = number(field, expected) * (unit == "us" ? 1e-6 : 1e-3);
  if (seconds > kMostSeconds) fail(expected, field);
  return from_seconds(seconds);
}

std::int64_t ProfileLine::integer(std::string_view field, std::string_view what) const {
  const auto expected = fmt::format("{}, a whole number from 0 to 2^50", what);
  const double value = number(field, expected);
  if (value != std::floor(value) || value > kMostParams) fail(expected, field);
  return static_cast<std::int64_t>(value);
}

std::string ProfileLine::name(std::string_view field) const {
  const std::string_view text = trimmed(field);
  if (text.empty() ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; })) {
    fail("a name in printable ASCII", field);
  }
  return std::string(text);
}

std::vector<std::string> ProfileLine::fields(std::string_view row, std::size_t columns) const {
  std::vector<std::string> fields(1);
  bool quoted = false;
  bool was_quoted = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const char c = row[i];
    if (quoted && c == '"' && i + 1 < row.size() && row[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (quoted && c == '"') {
      quoted = false;
      was_quoted = true;
    } else if (!quoted && c == ',') {
      fields.emplace_back();
      was_quoted = false;
    } else if (!quoted && c == '"' && fields.back().empty() && !was_quoted) {
      quoted = true;
    } else if (!quoted && (c == '"' || was_quoted)) {
      fail("a comma behind a closing quote", row);
    } else {
      fields.back() += c;
    }
  }
  if (quoted) fail("a closing quote", row);
  if (fields.size() != columns) fail(fmt::format("{} comma-separated fields", columns), row);
  return fields;
}

std::vector<ProfileLine> profile_lines(const ImportRequest& request) {
  std::vector<ProfileLine> lines;
  std::string_view rest = request.text;
  for (int number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!trimmed(line).empty()) lines.emplace_back(request.file, number, line);
  }
  if (lines.empty()) throw InputError(request.file + ": expected a profile, got an empty file");
  return lines;
}

Trace empty_trace(const ImportRequest& request, const std::string& note) {
  Trace trace{.model = request.model,
              .device = request.device,
              .batch = request.batch,
              .provenance = request.provenance};
  if (!trace.provenance.is_object()) trace.provenance = Json::object();
  const std::string given = trace.provenance.value("note", std::string());
  trace.provenance["note"] = given.empty() ? note : given + " " + note;
  return trace;
}

void check_imported(const Trace& trace, const std::string& file) {
  if (trace.layers.empty()) throw InputError(file + ": expected at least one layer, got none");
  double seconds = 0;
  double params = 0;
  for (const Layer& layer : trace.layers) {
    seconds += to_seconds(layer.forward) + to_seconds(layer.backward);
    params += static_cast<double>(layer.params());
  }
  if (seconds > kMostSeconds) {
    throw InputError(fmt::format("{}: expected at most {:g} s of compute in one step, got {:g} s",
                                 file, kMostSeconds, seconds));
  }
  if (params > kMostParams) {
    throw InputError(fmt::format("{}: expected at most 2^50 parameters, got {:g}", file, params));
  }
}

LearnableLayers learnable_layers(const ImportRequest& request, const std::string& why) {
  if (request.layer_table.empty()) {
    throw InputError(
        fmt::format("{}: expected a layer table (--layer-table NAME), as {}", request.file, why));
  }
  const std::string file = find_layer_table(request.layer_table);
  if (file.empty()) {
    throw InputError(fmt::format("{}: unknown layer table {}; known: {}", request.file,
                                 brief(request.layer_table), fmt::join(layer_table_names(), ", ")));
  }
  LayerTable table = read_layer_table(file);
  LearnableLayers learnable{.table = table.name};
  for (TableLayer& layer : table.layers) {
    if (layer.tensors.empty()) continue;
    learnable.layers.push_back(
        {.name = std::move(layer.name), .tensors = std::move(layer.tensors)});
  }
  return learnable;
}

}  // namespace steptime
