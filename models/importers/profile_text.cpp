#include "models/importers/profile_text.h"

#include "models/layer_table.h"
#include "sim/config/word_list.h"
#include "sim/core/error.h"

#include <algorithm>
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

}  // namespace

std::string_view ProfileLine::message() const {
  const std::string_view line = text();
  const bool logged = line.size() > 5 && line.find_first_of("IWEF") == 0 &&
                      std::all_of(line.begin() + 1, line.begin() + 5, is_digit);
  const auto end = line.find("] ");
  return logged && end != std::string_view::npos ? line.substr(end + 2) : line;
}

double ProfileLine::number(std::string_view field, std::string_view expected) const {
  const auto value = number_in<double>(field);
  if (!value || !std::isfinite(*value) || *value < 0) fail(expected, field);
  return *value;
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
  std::vector<std::string> fields = cells(row);
  if (fields.size() != columns) fail(fmt::format("{} comma-separated fields", columns), row);
  return fields;
}

std::vector<ProfileLine> profile_lines(const ImportRequest& request) {
  const std::vector<TextLine> lines = text_lines(request.file, request.text);
  if (lines.empty()) throw InputError(request.file + ": expected a profile, got an empty file");
  return {lines.begin(), lines.end()};
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
                                 brief(request.layer_table), listed(layer_table_names())));
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
