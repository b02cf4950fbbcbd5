#include "sim/drawing/sweep_figure.h"

#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/drawing/swept_axis.h"
#include "sim/experiment/figures.h"
#include "sim/sweeps/values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::size_t kMostLines = 8;
constexpr std::size_t kMostPanels = 12;
constexpr std::size_t kFewestOfABand = 10;
constexpr double kLogarithmicColours = 4;  ///< from such a ratio of values on
/// Bytes of a name in the legend, which is as wide as a picture or a panel in each terminal.
constexpr std::size_t kMostOfName = 64;
constexpr std::size_t kMostOfNameInPanels = 36;

/// Characters of ticks that have room along x, in each terminal alike: beside lines, and beside a
/// map with its scale of colours.
struct Room {
  std::size_t lines = 0;
  std::size_t map = 0;
};
constexpr Room kRoom{84, 66};
constexpr Room kRoomOfPanels{40, 26};
/// Okabe and Ito's palette, which colour-blind readers can tell apart; the marks help in print.
constexpr std::array kCurveColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                   "#E69F00", "#56B4E9", "#000000", "#888888"};
constexpr std::array kMarks{7, 9, 5, 13, 11, 15, 4, 6};
static_assert(kCurveColours.size() == kMostLines && kMarks.size() == kMostLines);

struct Point {
  std::vector<std::size_t> at;  ///< on each axis
  double value = 0;
  double low = 0;
  double high = 0;
  /// The workers of the point, or the replicas of a layout: an ideal speedup; 0: it is not drawn.
  double ideal = 0;
};

/// A name of so many bytes at most, in UTF-8: what is longer keeps its beginning and its end.
std::string shortened(const std::string& name, std::size_t most) {
  if (name.size() <= most) return name;
  const auto is_inside = [&](std::size_t at) {  // of a character
    return at < name.size() && (static_cast<unsigned char>(name[at]) & 0xC0) == 0x80;
  };
  std::size_t first = most / 2;
  while (is_inside(first))
    --first;
  std::size_t last = name.size() - (most - most / 2 - 3);
  while (is_inside(last))
    ++last;
  return name.substr(0, first) + "..." + name.substr(last);
}

/// What the results are called and measured in.
struct Measure {
  std::string label;
  double factor = 1;
};

Measure measure_of(const std::string& key, double most) {
  const auto known = std::find_if(figures().begin(), figures().end(),
                                  [&](const Figure& f) { return f.key == key; });
  std::string name = key;
  for (const char* unit : {"_bytes", "_per_s", "_s"}) {
    if (name.ends_with(unit)) name.resize(name.size() - std::string_view(unit).size());
  }
  boost::replace_all(name, "_", " ");
  std::string unit(known == figures().end() ? "" : known->unit);
  double factor = 1;
  if (unit == "s" && most < 10) {
    unit = most < 0.01 ? "us" : "ms";
    factor = most < 0.01 ? 1e6 : 1e3;
  } else if (unit == "B") {
    unit = "GB";
    factor = 1e-9;
  }
  if (!unit.empty()) name += fmt::format(" ({})", unit);
  return {name, factor};
}

/// Behind the name of an axis, so that the legend below does not touch it.
constexpr const char* kLineBelow = " . \"\\n\"";

struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  Extent times(double factor) const { return {least * factor, most * factor}; }
};

class Figure2D {
 public:
  /// `all`: the values that are shown in all panels, `reach` with their intervals.
  Figure2D(Measure measure, bool has_interval, Extent all, Extent reach, Room room,
           std::size_t most_of_name)
      : measure_(std::move(measure)),
        has_interval_(has_interval),
        is_logarithmic_(reach.least > 0 && reach.most >= 30 * reach.least),
        all_(all.times(measure_.factor)),
        reach_(reach.times(measure_.factor)),
        room_(room),
        most_of_name_(most_of_name) {}

  /// A panel over one axis, or two, of the points.
  std::string panel(std::span<const Point> points, const SweptAxis* x, std::size_t x_at,
                    const SweptAxis* lines, std::size_t lines_at) {
    if (lines != nullptr && lines->values.size() > kMostLines)
      return heat_map(points, *x, x_at, *lines, lines_at);
    const bool has_key = lines != nullptr || points.front().ideal > 0;
    std::string text =
        fmt::format("set xlabel {}{} noenhanced\nset ylabel {} noenhanced\n", in_quotes(x->name),
                    has_key ? kLineBelow : "",
                    in_quotes(measure_.label + (has_interval_ ? ", 95 % interval" : "")));
    text += ticks("x", *x, true, ticks_in(room_.lines, *x, true));
    const double first = x->places.front();
    const double last = x->places.back();
    if (x->is_logarithmic()) {
      text += fmt::format("set logscale x 2\nset xrange [{:.17g}:{:.17g}]\n", first / 1.15,
                          last * 1.15);
    } else {
      const double gap = x->values.size() > 1 ? (last - first) * 0.06 : 1;
      text +=
          fmt::format("unset logscale x\nset xrange [{:.17g}:{:.17g}]\n", first - gap, last + gap);
    }
    const double top = reach_.most > 0 ? reach_.most * 1.05 : 1;
    text += is_logarithmic_
                ? fmt::format("set logscale y\nset yrange [{:.6g}:{:.6g}]\n", reach_.least / 1.1,
                              reach_.most * 1.1) +
                      logarithmic_ticks("y", reach_.least, reach_.most)
                : fmt::format("set yrange [0:{:.6g}]\n", top) + number_ticks("y", 0, top);
    text += lines != nullptr ? fmt::format("set key title {} noenhanced\n", in_quotes(lines->name))
            : has_key        ? ""
                             : "unset key\n";
    const std::size_t count = lines != nullptr ? lines->values.size() : 1;
    std::vector<std::string> behind;
    std::vector<std::string> front;
    for (std::size_t line = 0; line < count; ++line) {
      std::vector<Point> of_line;
      for (const Point& point : points) {
        if (lines == nullptr || point.at[lines_at] == line) of_line.push_back(point);
      }
      if (of_line.empty()) continue;
      std::sort(of_line.begin(), of_line.end(),
                [x_at](const Point& a, const Point& b) { return a.at[x_at] < b.at[x_at]; });
      const std::string data = fmt::format("$d{}", blocks_++);
      text += data + " << EOD\n";
      for (const Point& p : of_line) {
        text += fmt::format("{:.17g} {:.9g} {:.9g} {:.9g}\n", x->places[p.at[x_at]],
                            p.value * measure_.factor, p.low * measure_.factor,
                            p.high * measure_.factor);
      }
      text += "EOD\n";
      const char* const colour = kCurveColours[line];
      const bool has_band = of_line.size() >= kFewestOfABand;
      if (has_interval_ && has_band) {
        behind.push_back(
            fmt::format("{} using 1:3:4 with filledcurves fillcolor rgb '{}' fillstyle "
                        "transparent solid 0.15 noborder notitle",
                        data, colour));
      } else if (has_interval_) {
        behind.push_back(
            fmt::format("{} using 1:2:3:4 with yerrorbars linewidth 0.8 linecolor rgb "
                        "'{}' pointtype 0 notitle",
                        data, colour));
      }
      const std::string title =
          lines == nullptr ? "notitle"
                           : fmt::format("title {} noenhanced",
                                         in_quotes(shortened(lines->labels[line], most_of_name_)));
      front.push_back(fmt::format(
          "{} using 1:2 with {} linewidth 1.4 linecolor rgb '{}' {} {}", data,
          of_line.size() > 60 ? "lines" : "linespoints", colour,
          of_line.size() > 60
              ? std::string()
              : fmt::format("pointtype {} pointsize {}", kMarks[line], has_band ? 0.6 : 1.1),
          title));
    }
    if (points.front().ideal > 0) behind.push_back(ideal(text, points, *x, x_at));
    behind.insert(behind.end(), front.begin(), front.end());
    return text + fmt::format("plot {}\n", fmt::join(behind, ", "));
  }

 private:
  /// A dashed line of the ideal speedups; the data go to `text`.
  std::string ideal(std::string& text, std::span<const Point> points, const SweptAxis& x,
                    std::size_t x_at) {
    const std::string data = fmt::format("$d{}", blocks_++);
    text += data + " << EOD\n";
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      const auto point = std::find_if(points.begin(), points.end(),
                                      [&](const Point& p) { return p.at[x_at] == i; });
      if (point != points.end()) text += fmt::format("{:.17g} {:.9g}\n", x.places[i], point->ideal);
    }
    text += "EOD\n";
    return fmt::format(
        "{} using 1:2 with lines dashtype 2 linewidth 0.9 linecolor rgb '#888888' "
        "title 'ideal'",
        data);
  }

  std::string heat_map(std::span<const Point> points, const SweptAxis& x, std::size_t x_at,
                       const SweptAxis& y, std::size_t y_at) {
    // Room for the widest number of the scale between it and its name.
    const double wider =
        0.7 * std::max(0., static_cast<double>(fmt::format("{:.4g}", all_.most).size()) - 3);
    std::string text = fmt::format(
        "unset key\nunset logscale x\nunset logscale y\nset xlabel {} noenhanced\nset ylabel {} "
        "noenhanced\nset rmargin {:.3g}\nset cblabel {} noenhanced offset {:.3g},0\n"
        "set xrange [0.5:{}.5]\nset yrange [0.5:{}.5]\n",
        in_quotes(x.name), in_quotes(y.name), 10.5 + wider, in_quotes(measure_.label), 1 + wider,
        x.values.size(), y.values.size());
    // One scale for all panels, where a colour is a value: a logarithm leaves small ones apart.
    if (all_.least > 0 && all_.most >= kLogarithmicColours * all_.least)
      text += "set logscale cb\n" + logarithmic_ticks("cb", all_.least, all_.most);
    else
      text += number_ticks("cb", all_.least, all_.most);
    if (all_.most > all_.least)
      text += fmt::format("set cbrange [{:.6g}:{:.6g}]\n", all_.least, all_.most);
    text += ticks("x", x, false, ticks_in(room_.map, x, false)) + ticks("y", y, false, kMostTicks);
    const std::string data = fmt::format("$d{}", blocks_++);
    text += data + " << EOD\n";
    for (const Point& p : points) {
      text +=
          fmt::format("{} {} {:.9g}\n", p.at[x_at] + 1, p.at[y_at] + 1, p.value * measure_.factor);
    }
    return text + fmt::format(
                      "EOD\nplot {} using 1:2:(0.55):(0.55):3 with boxxyerror fillcolor "
                      "palette fillstyle solid noborder\n",
                      data);
  }

  Measure measure_;
  bool has_interval_;
  bool is_logarithmic_;
  Extent all_;
  Extent reach_;
  Room room_;
  std::size_t most_of_name_;
  std::size_t blocks_ = 0;
};

std::string default_key(std::span<const SweptAxis> axes) {
  const bool over_nodes =
      std::any_of(axes.begin(), axes.end(),
                  [](const SweptAxis& a) { return a.pointer == "/cluster/nodes"; }) &&
      std::all_of(axes.begin(), axes.end(), [](const SweptAxis& a) {
        return a.pointer == "/cluster/nodes" || a.pointer == "/strategy/schedule/type";
      });
  return over_nodes ? "speedup" : "step_time_s";
}

/// Those whose values are what the request asks for.
std::vector<const ResultRow*> chosen(std::span<const ResultRow> rows,
                                     const FigureRequest& request) {
  std::vector<const ResultRow*> found;
  for (const ResultRow& row : rows) {
    const Json params = row.figures.value("params", Json::object());
    const bool is_asked_for =
        std::all_of(request.where.begin(), request.where.end(), [&](const auto& where) {
          return params.contains(where.first) && swept_value(params[where.first]) == where.second;
        });
    if (is_asked_for) found.push_back(&row);
  }
  if (found.empty()) {
    throw InputError(request.where.empty() ? "expected results of a sweep, found none"
                                           : "--where: no point has these values");
  }
  return found;
}

constexpr const char* kLook =
    "set border 3 linewidth 1 linecolor rgb '#444444'\n"
    "set tics nomirror out scale 0.6\n"
    "set grid ytics linewidth 0.6 linecolor rgb '#DDDDDD'\n"
    "set key outside below center horizontal Left reverse samplen 2 spacing 1.2\n"
    "set palette defined (0 '#fff7ec', 0.35 '#fdbb84', 0.7 '#d7301f', 1 '#5a0000')\n";

}  // namespace

SweepFigure sweep_figure(std::span<const ResultRow> rows, const FigureRequest& request) {
  const std::vector<const ResultRow*> shown = chosen(rows, request);
  std::vector<SweptAxis> axes = axes_of(shown);
  if (axes.empty() && shown.size() > 1)
    throw InputError("expected results that differ in a swept value");
  const bool is_single = axes.empty();
  if (is_single) axes = {only_axis(*shown.front())};
  if (axes.size() > 3) {
    std::vector<std::string> pointers;
    for (const SweptAxis& axis : axes)
      pointers.push_back(axis.pointer);
    throw InputError(
        fmt::format("{} values differ ({}), expected at most three; --where /pointer=value takes "
                    "the points with one value",
                    axes.size(), fmt::join(pointers, ", ")));
  }
  const std::string key = request.key.empty() ? default_key(axes) : request.key;

  SweepFigure figure;
  std::vector<Point> points;
  Extent all;
  Extent reach;
  bool has_interval = key == "step_time_s";
  for (const ResultRow* row : shown) {
    const Json& figures = row->figures;
    if (!figures.contains(key) || !figures[key].is_number()) {
      ++figure.left_out;
      continue;
    }
    Point point{.value = figures[key].get<double>()};
    point.low = point.high = point.value;
    if (has_interval && figures.contains("step_time_interval_s")) {
      point.low = figures["step_time_interval_s"].at(0).get<double>();
      point.high = figures["step_time_interval_s"].at(1).get<double>();
    }
    if (key == "speedup" && !is_single && figures.contains("scaling_efficiency"))
      point.ideal = std::round(point.value / figures["scaling_efficiency"].get<double>());
    const Json params = figures.value("params", Json::object());
    if (is_single) point.at = {0};
    for (const SweptAxis& axis : is_single ? std::span<const SweptAxis>() : std::span(axes)) {
      if (!params.contains(axis.pointer)) {
        throw InputError(fmt::format("{}: has no {}, as others have: expected results of one sweep",
                                     row->label, axis.pointer));
      }
      point.at.push_back(axis.index(swept_value(params[axis.pointer])));
    }
    all.add(point.value);
    for (const double each : {point.low, point.high, std::max(point.high, point.ideal)})
      reach.add(each);
    points.push_back(std::move(point));
  }
  if (points.empty()) {
    std::vector<std::string> known;
    for (const Figure& f : steptime::figures()) {
      if (f.number != nullptr || f.integer != nullptr) known.emplace_back(f.key);
    }
    throw InputError(
        fmt::format("--key: {}", std::find(known.begin(), known.end(), key) == known.end()
                                     ? unknown_word(key, known)
                                     : fmt::format("no point has \"{}\"", key)));
  }
  figure.points = points.size();

  // The panels' axis has the fewest values, that of the lines fewer than the one along x.
  std::vector<std::size_t> by_size(axes.size());
  for (std::size_t i = 0; i < by_size.size(); ++i)
    by_size[i] = i;
  std::stable_sort(by_size.begin(), by_size.end(), [&axes](std::size_t a, std::size_t b) {
    return std::pair(axes[a].values.size(), axes[a].has_numbers) <
           std::pair(axes[b].values.size(), axes[b].has_numbers);
  });
  const std::size_t x_at = by_size.back();
  const SweptAxis* const x = &axes[x_at];
  const std::size_t lines_at = axes.size() > 1 ? by_size[by_size.size() - 2] : 0;
  const SweptAxis* const lines = axes.size() > 1 ? &axes[lines_at] : nullptr;

  const bool is_one = axes.size() < 3;
  Figure2D panels(measure_of(key, reach.most), has_interval, all, reach,
                  is_one ? kRoom : kRoomOfPanels, is_one ? kMostOfName : kMostOfNameInPanels);
  figure.commands = kLook;
  if (is_one) {
    figure.commands += fmt::format("set title {} noenhanced\n", in_quotes(request.title));
    figure.commands += panels.panel(points, x, x_at, lines, lines_at);
    return figure;
  }
  const std::size_t of_panels = by_size.front();
  const SweptAxis& panel = axes[of_panels];
  if (panel.values.size() > kMostPanels) {
    throw InputError(
        fmt::format("{} has {} values, expected at most {} panels; --where {}=VALUE "
                    "takes one",
                    panel.pointer, panel.values.size(), kMostPanels, panel.pointer));
  }
  const std::size_t columns = panel.values.size() < 3    ? panel.values.size()
                              : panel.values.size() == 4 ? 2
                                                         : 3;
  const std::size_t count = (panel.values.size() + columns - 1) / columns;
  figure.width = 0.6 * static_cast<double>(columns);
  figure.height = 0.75 * static_cast<double>(count) + 0.1;
  figure.commands += fmt::format("set multiplot layout {},{} title {} noenhanced\n", count, columns,
                                 in_quotes(request.title));
  for (std::size_t i = 0; i < panel.values.size(); ++i) {
    std::vector<Point> of_panel;
    for (const Point& point : points) {
      if (point.at[of_panels] == i) of_panel.push_back(point);
    }
    if (of_panel.empty()) continue;
    figure.commands +=
        fmt::format("set title {} noenhanced\n", in_quotes(panel.name + " " + panel.labels[i]));
    figure.commands += panels.panel(of_panel, x, x_at, lines, lines_at);
  }
  figure.commands += "unset multiplot\n";
  return figure;
}

}  // namespace steptime
