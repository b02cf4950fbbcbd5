#include "sim/legend.h"

#include "sim/json.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::array<const char*, 8> kColours{"#2e7d32", "#1565c0", "#c62828", "#6a1b9a",
                                              "#ef6c00", "#00838f", "#5d4037", "#757575"};

/// For the cells of a table, which Graphviz reads as HTML.
std::string html(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') safe += "&lt;";
    if (c == '>') safe += "&gt;";
    if (c == '&') safe += "&amp;";
    if (c != '<' && c != '>' && c != '&') safe += c;
  }
  return one_line(safe);
}

}  // namespace

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string drawn_link(const std::string& first, const std::string& second, const char* colour,
                       std::int64_t count) {
  constexpr std::int64_t kMostLines = 4;
  std::string lines = colour;
  for (std::int64_t i = 1; i < count && count <= kMostLines; ++i)
    lines += fmt::format(":white:{}", colour);
  const std::string many =
      count <= kMostLines
          ? ""
          : fmt::format(", penwidth=4, label=\"{}x\", fontcolor=\"{}\"", count, colour);
  return fmt::format("  {} -- {} [color=\"{}\"{}];\n", first, second, lines, many);
}

const char* Legend::colour(const std::string& kind, Bandwidth one, Duration latency) {
  const double width = one.bytes_per_second;
  const auto alike = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.kind == kind && (!by_width_ || row.width == width);
  });
  const Row row{kind, width, latency, alike == rows_.end() ? colours_++ : alike->colour};
  if (std::find(rows_.begin(), rows_.end(), row) == rows_.end()) rows_.push_back(row);
  return kColours[row.colour % kColours.size()];
}

std::string Legend::vertex(const std::string& attributes) const {
  if (rows_.empty()) return "";
  std::string text = "<table border=\"0\" cellborder=\"0\" cellspacing=\"4\">";
  for (const Row& row : rows_) {
    text += fmt::format(
        "<tr><td align=\"left\"><font color=\"{}\"><b>{}</b></font></td>"
        "<td align=\"right\">{:.4g} GB/s</td><td align=\"right\">{:.4g} us</td></tr>",
        kColours[row.colour % kColours.size()], html(row.kind.empty() ? "link" : row.kind),
        row.width / 1e9, to_seconds(row.latency) * 1e6);
  }
  return fmt::format("  legend [shape=plaintext, style=\"\"{}, label=<{}</table>>];\n", attributes,
                     text);
}

}  // namespace steptime
