#include "sim/drawing/sweep_figure.h"

#include "sim/core/error.h"
#include "sim/drawing/figure_panel.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::size_t kMostPanels = 12;

/// The panels' axis has the fewest values, that of the lines fewer than the one along x; files are
/// lines wherever there is another axis.
FigureParts parts_of(const std::vector<SweptAxis>& axes) {
  if (axes.size() == 1) return {.x = 0};
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&axes](std::size_t a, std::size_t b) {
    return std::pair(axes[a].values.size(), axes[a].has_numbers) <
           std::pair(axes[b].values.size(), axes[b].has_numbers);
  });
  const auto files = std::find_if(order.begin(), order.end(),
                                  [&](std::size_t at) { return axes[at].is_of_files; });
  if (files != order.end()) {
    const std::size_t at = *files;
    order.erase(files);
    order.insert(std::prev(order.end()), at);
  }
  FigureParts parts{.x = order.back(), .lines = order[order.size() - 2]};
  if (axes.size() > 2) parts.panels = order.front();
  return parts;
}

constexpr const char* kLook =
    "set border 3 linewidth 1 linecolor rgb '#444444'\n"
    "set tics nomirror out scale 0.6\n"
    "set grid ytics linewidth 0.6 linecolor rgb '#DDDDDD'\n"
    "set key outside below center horizontal Left reverse samplen 2 spacing 1.2\n"
    "set palette defined (0 '#fff7ec', 0.35 '#fdbb84', 0.7 '#d7301f', 1 '#5a0000')\n";

}  // namespace

SweepFigure sweep_figure(std::span<const ResultRow> rows, const FigureRequest& request) {
  const FigurePoints shown = figure_points(rows, request);
  SweepFigure figure{.commands = kLook, .points = shown.points.size(), .left_out = shown.left_out};
  const FigureParts parts = parts_of(shown.axes);
  FigurePanels panels(shown, parts);
  if (!parts.panels) {
    figure.commands += fmt::format("set title {} noenhanced\n", in_quotes(request.title));
    figure.commands += panels.panel();
    return figure;
  }
  const SweptAxis& axis = shown.axes[*parts.panels];
  const std::size_t n = axis.values.size();
  if (n > kMostPanels) {
    throw InputError(
        fmt::format("{} has {} values, expected at most {} panels; --where {}=VALUE "
                    "takes one",
                    axis.pointer, n, kMostPanels, axis.pointer));
  }
  const std::size_t columns = n < 3 ? n : n == 4 ? 2 : 3;
  const std::size_t count = (n + columns - 1) / columns;
  figure.width = 0.6 * static_cast<double>(columns);
  figure.height = 0.75 * static_cast<double>(count) + 0.1;
  figure.commands += fmt::format("set multiplot layout {},{} title {} noenhanced\n", count, columns,
                                 in_quotes(request.title));
  for (std::size_t i = 0; i < n; ++i) {
    const std::string panel = panels.panel(i);
    if (panel.empty()) continue;
    figure.commands +=
        fmt::format("set title {} noenhanced\n", in_quotes(axis.name + " " + axis.labels[i]));
    figure.commands += panel;
  }
  figure.commands += "unset multiplot\n";
  return figure;
}

}  // namespace steptime
