#include "sim/evidence/size_map.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// 1234567 is "1.23M".
std::string brief_size(double size) {
  for (const auto& [unit, name] : {std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}}) {
    if (size >= unit * 0.9995) return fmt::format("{:.3g}{}", size / unit, name);
  }
  return fmt::format("{:.3g}", size);
}

}  // namespace

std::vector<SizeSpan> fastest_by_size(const std::vector<std::string>& names, double from, double to,
                                      const std::function<std::vector<double>(double)>& times) {
  const auto fastest = [&](double size) {
    const std::vector<double> all = times(size);
    return static_cast<std::size_t>(std::min_element(all.begin(), all.end()) - all.begin());
  };
  std::vector<SizeSpan> spans;
  // Adds the spans that end between two sizes, of which the fastest are known.
  const std::function<void(double, std::size_t, double, std::size_t)> narrow =
      [&](double low, std::size_t at_low, double high, std::size_t at_high) {
        if (at_low == at_high) return;
        if (high <= low * 1.001 || high <= low + 1) {
          spans.push_back({.fastest = names[at_low], .to = high});
          return;
        }
        const double middle = std::sqrt(low * high);
        const std::size_t at_middle = fastest(middle);
        narrow(low, at_low, middle, at_middle);
        narrow(middle, at_middle, high, at_high);
      };
  double size = from;
  std::size_t at_size = fastest(size);
  while (size < to) {
    const double next = std::min(size * 2, to);
    const std::size_t at_next = fastest(next);
    narrow(size, at_size, next, at_next);
    size = next;
    at_size = at_next;
  }
  spans.push_back({.fastest = names[at_size], .to = to});
  return spans;
}

Json SizeMap::json() const {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json spans = Json::array();
    for (const SizeSpan& span : row.spans)
      spans.push_back({{"fastest", span.fastest}, {"to", span.to}});
    list.push_back({{"label", row.label}, {"spans", spans}});
  }
  return {{"id", id},         {"paper", paper}, {"quantity", quantity}, {"unit", unit},
          {"config", config}, {"where", where}, {"note", note},         {"rows", list}};
}

std::string size_maps_text(const std::vector<SizeMap>& maps) {
  std::string text;
  for (const SizeMap& map : maps) {
    text += fmt::format("\n{}, {}, by {}\n", map.id, map.quantity, map.unit);
    std::size_t width = 0;
    for (const SizeMap::Row& row : map.rows)
      width = std::max(width, row.label.size());
    for (const SizeMap::Row& row : map.rows) {
      std::string line;
      for (std::size_t i = 0; i + 1 < row.spans.size(); ++i)
        line += fmt::format("{} to {}, ", row.spans[i].fastest, brief_size(row.spans[i].to));
      text += fmt::format("  {:<{}}  {}{}\n", row.label, width, line, row.spans.back().fastest);
    }
    if (!map.note.empty()) text += fmt::format("  note: {}\n", map.note);
  }
  return text;
}

}  // namespace steptime
