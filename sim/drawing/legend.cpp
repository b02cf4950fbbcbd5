#include "sim/drawing/legend.h"

#include "sim/config/json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Okabe and Ito's palette, which colour-blind readers can tell apart, without its yellow.
constexpr std::array<const char*, 7> kColours{"#009E73", "#0072B2", "#D55E00", "#CC79A7",
                                              "#E69F00", "#56B4E9", "#000000"};
constexpr std::array<const char*, 3> kLines{"solid", "dashed", "dotted"};
/// Heavy bars of a box, which meet, and dots, as Graphviz's HTML has them.
constexpr std::array<const char*, 3> kSamples{"&#9473;&#9473;&#9473;", "&#9473; &#9473;",
                                              "&#183; &#183; &#183;"};

/// The colours of the usual kinds; others get what is free.
struct Usual {
  std::string_view kind;
  std::size_t colour;
};
constexpr std::array kUsual{Usual{"nvlink", 0}, Usual{"pcie", 1}, Usual{"qpi", 2},
                            Usual{"upi", 2},    Usual{"xgmi", 2}, Usual{"x-bus", 2},
                            Usual{"memory", 3}};

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

std::string drawn_link(const std::string& first, const std::string& second, LinkStyle style,
                       std::int64_t count, std::string label) {
  constexpr std::int64_t kMostLines = 4;
  std::string lines = style.colour;
  for (std::int64_t i = 1; i < count && count <= kMostLines; ++i)
    lines += fmt::format(":white:{}", style.colour);
  const bool is_many = count > kMostLines;
  if (is_many) label = fmt::format("{}x{}{}", count, label.empty() ? "" : ", ", label);
  const std::string many = label.empty()
                               ? ""
                               : fmt::format(", {}label=\"{}\", fontcolor=\"{}\"",
                                             is_many ? "penwidth=4, " : "", label, style.colour);
  return fmt::format("  {} -- {} [color=\"{}\", style={}{}];\n", first, second, lines, style.line,
                     many);
}

LinkStyle Legend::Row::style() const {
  return {kColours[colour % kColours.size()], kLines[line % kLines.size()]};
}

/// The usual one of the kind, if no other kind has it.
std::size_t Legend::new_colour(const std::string& kind) const {
  const auto is_free = [&](std::size_t colour) {
    return std::none_of(rows_.begin(), rows_.end(),
                        [&](const Row& row) { return row.colour == colour; });
  };
  for (const Usual& usual : kUsual) {
    if (usual.kind == kind && is_free(usual.colour)) return usual.colour;
  }
  // Those of the usual kinds last: their own links may yet come.
  for (const std::size_t colour : {4U, 5U, 6U, 2U, 3U, 0U, 1U}) {
    if (is_free(colour)) return colour;
  }
  return rows_.size();
}

LinkStyle Legend::style(const std::string& kind, Bandwidth one, Duration latency) {
  const double width = one.bytes_per_second;
  std::optional<std::size_t> colour;
  std::size_t line = 0;
  for (const Row& row : rows_) {
    if (row.kind != kind || (by_width_ && row.width != width)) continue;
    if (row.width == width && row.latency == latency) return row.style();
    colour = row.colour;
    ++line;
  }
  rows_.push_back({kind, width, latency, colour ? *colour : new_colour(kind), line});
  return rows_.back().style();
}

std::string Legend::vertex(const std::string& attributes) const {
  if (rows_.empty()) return "";
  std::string text = "<table border=\"0\" cellborder=\"0\" cellspacing=\"4\">";
  for (const Row& row : rows_) {
    text += fmt::format(
        "<tr><td><font color=\"{}\"><b>{}</b></font></td><td align=\"left\">{}</td>"
        "<td align=\"right\">{:.4g} GB/s</td><td align=\"right\">{:.4g} us</td></tr>",
        row.style().colour, kSamples[row.line % kSamples.size()],
        html(row.kind.empty() ? "link" : row.kind), row.width / 1e9, to_seconds(row.latency) * 1e6);
  }
  return fmt::format("  legend [shape=plaintext, style=\"\"{}, label=<{}</table>>];\n", attributes,
                     text);
}

}  // namespace steptime
