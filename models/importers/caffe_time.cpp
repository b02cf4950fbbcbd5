// The per-layer times that `caffe time` prints, or the same as CSV.
//
//   I0228 23:01:59.849072 24487 caffe.cpp:369]      conv1	forward: 4.6583 ms.
//   I0228 23:01:59.849079 24487 caffe.cpp:372]      conv1	backward: 14.4471 ms.
// CSV: a header "layer,fwd_ms,bwd_ms", then a row per layer.
//
// Format: BVLC/caffe tools/caffe.cpp, time(). In a whole log the lines from "Average time per
// layer:" to "Average Forward pass:" count, the last such section if there are several; a text
// without that heading must hold nothing but such lines. The logger's prefix may be missing.
// Limits: the log has no parameter counts. They come from a layer table: rows take the tensors of
// the layer of their name, rows that the table does not know (data, split) have none, and each
// learnable layer of the table must have exactly one row.
// The times are averages over the iterations, each layer synchronised with the device.
#include "models/importers/profile_text.h"
#include "sim/core/error.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{};
constexpr std::string_view kHeading = "Average time per layer:";
constexpr std::string_view kEnd = "Average Forward pass:";
constexpr std::string_view kHeader = "layer,fwd_ms,bwd_ms";

using Lines = std::vector<ProfileLine>;

/// A row of the table, and the line that names it.
struct Row {
  ProfileLine line;
  Layer layer;
};

/// One "NAME<tab>`pass`: NUMBER ms." line.
std::pair<std::string, Duration> read_pass(const ProfileLine& line, std::string_view pass) {
  const std::string lead = fmt::format("\t{}: ", pass);
  constexpr std::string_view tail = " ms.";
  const std::string_view text = line.message();
  const auto tab = text.find(lead);
  if (tab == std::string_view::npos || !text.ends_with(tail) ||
      text.size() < tab + lead.size() + tail.size()) {
    line.fail(fmt::format("\"LAYER<tab>{}: NUMBER ms.\"", pass), text);
  }
  const auto start = tab + lead.size();
  return {line.name(text.substr(0, tab)),
          line.time(text.substr(start, text.size() - tail.size() - start), "ms")};
}

/// The lines that the layers stand on.
Lines layer_lines(const Lines& lines, const std::string& file) {
  const auto heading = std::find_if(lines.rbegin(), lines.rend(), [](const ProfileLine& line) {
    return line.message().starts_with(kHeading);
  });
  const auto end = std::find_if(heading.base(), lines.end(), [](const ProfileLine& line) {
    return line.message().starts_with(kEnd);
  });
  if (heading == lines.rend()) return {lines.begin(), end};
  if (end == lines.end()) {
    throw InputError(
        fmt::format("{}: expected \"{}\" behind the layers, got the end of the file", file, kEnd));
  }
  return {heading.base(), end};
}

std::vector<Row> read_log(const Lines& lines, const std::string& file) {
  const Lines section = layer_lines(lines, file);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < section.size(); i += 2) {
    auto [name, forward] = read_pass(section[i], "forward");
    if (i + 1 == section.size()) {
      section[i].fail(fmt::format("a backward line behind the forward line of {}", name));
    }
    const auto [again, backward] = read_pass(section[i + 1], "backward");
    if (again != name) section[i + 1].fail(fmt::format("the backward line of {}", name), again);
    rows.push_back(
        {section[i], {.name = std::move(name), .forward = forward, .backward = backward}});
  }
  return rows;
}

std::vector<Row> read_times_csv(const Lines& lines) {
  std::vector<Row> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = lines[i].fields(lines[i].text(), 3);
    rows.push_back({lines[i],
                    {.name = lines[i].name(fields[0]),
                     .forward = lines[i].time(fields[1], "ms"),
                     .backward = lines[i].time(fields[2], "ms")}});
  }
  return rows;
}

/// Gives the rows the tensors of their layers.
void add_tensors(std::vector<Row>& rows, const LearnableLayers& learnable,
                 const std::string& file) {
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : learnable.layers)
    by_name[layer.name] = &layer;
  std::set<std::string> seen;
  for (Row& row : rows) {
    const auto found = by_name.find(row.layer.name);
    if (found == by_name.end()) continue;
    if (!seen.insert(row.layer.name).second) {
      row.line.fail("one row for each learnable layer", row.layer.name + " again");
    }
    row.layer.tensors = found->second->tensors;
  }
  for (const Layer& layer : learnable.layers) {
    if (!seen.contains(layer.name)) {
      throw InputError(fmt::format("{}: expected a row for {}, a learnable layer of {}, got none",
                                   file, layer.name, learnable.table));
    }
  }
}

class CaffeTime final : public Importer {
 public:
  Imported import(const ImportRequest& request) const override {
    const Lines lines = profile_lines(request);
    std::vector<Row> rows =
        lines.front().text() == kHeader ? read_times_csv(lines) : read_log(lines, request.file);
    const LearnableLayers learnable =
        learnable_layers(request, "caffe time prints no parameter counts");
    add_tensors(rows, learnable, request.file);
    Trace trace =
        empty_trace(request, fmt::format("Parameter counts: layer table {}.", learnable.table));
    for (Row& row : rows)
      trace.layers.push_back(std::move(row.layer));
    check_imported(trace, request.file);
    return {.trace = std::move(trace)};
  }
};

const bool kRegistered =
    Importers::instance().add("caffe-time", "text that `caffe time` prints, or layer,fwd_ms,bwd_ms",
                              kParams, [](const Config&) { return std::make_unique<CaffeTime>(); });

}  // namespace
}  // namespace steptime
