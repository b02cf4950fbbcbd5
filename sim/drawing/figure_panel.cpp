#include "sim/drawing/figure_panel.h"

#include "sim/experiment/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::size_t kMostLines = 8;
constexpr std::size_t kFewestOfABand = 10;
constexpr double kBesideWords = 0.6;  ///< a share of the distance of two words
// Lines stand beside each other where their bars would cover each other. Of the distance of two
// words all lines together have so much, and two of them so much at most.
constexpr double kMostOfAWord = 0.6;
constexpr double kMostBetweenLines = 0.15;
// Of an axis of numbers two have such a share of its length, less where all together would have
// more than so much of the distance to the next number, but never less than so much of that share.
constexpr double kShift = 0.01;
constexpr double kShiftInPanels = 0.018;
constexpr double kMostOfAGap = 0.8;
constexpr double kLeastOfAShift = 0.35;
constexpr std::size_t kMostMarks = 60;      ///< more of a line cannot be told apart
constexpr double kLogarithmicResults = 30;  ///< from such a ratio of results on
constexpr double kLogarithmicColours = 4;   ///< the same of a heat map
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

/// Behind the name of an axis, so that the legend below does not touch it.
constexpr const char* kLineBelow = " . \"\\n\"";

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

/// Points of one place on the axis may have several ideal speedups: then there is no line of them.
bool has_ideal(std::span<const FigurePoint> points, std::size_t x_at, std::size_t places) {
  std::vector<double> ideal(places);  // 0: of no point so far
  return std::ranges::all_of(points, [&](const FigurePoint& point) {
    double& one = ideal[point.at[x_at]];
    if (one == 0) one = point.ideal;
    return point.ideal > 0 && one == point.ideal;
  });
}

}  // namespace

FigurePanels::FigurePanels(const FigurePoints& shown, const FigureParts& parts)
    : shown_(shown),
      parts_(parts),
      x_(shown.axes[parts.x]),
      lines_(parts.lines ? &shown.axes[*parts.lines] : nullptr) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  all_ = reach_ = {kNone, 0};
  for (const FigurePoint& p : shown.points) {
    all_ = {std::min(all_.least, p.value), std::max(all_.most, p.value)};
    reach_ = {std::min({reach_.least, p.value, p.low}),
              std::max({reach_.most, p.value, p.high, p.ideal})};
  }
  const Measure measure = measure_of(shown.key, reach_.most);
  label_ = measure.label;
  factor_ = measure.factor;
  for (Extent* extent : {&all_, &reach_})
    *extent = {extent->least * factor_, extent->most * factor_};
  shifts_ = shifts_of_lines();
  is_logarithmic_ = reach_.least > 0 && reach_.most >= kLogarithmicResults * reach_.least;
}

std::string FigurePanels::panel(std::size_t value) {
  std::vector<FigurePoint> points;
  for (const FigurePoint& point : shown_.points) {
    if (!parts_.panels || point.at[*parts_.panels] == value) points.push_back(point);
  }
  if (points.empty()) return "";
  return lines_ != nullptr && lines_->values.size() > kMostLines ? heat_map(points)
                                                                 : lines(points, value);
}

std::vector<double> FigurePanels::shifts_of_lines() const {
  const std::size_t n = x_.values.size();
  std::vector<double> shifts(n);
  if (lines_ == nullptr || n < 2) return shifts;
  const auto lines = static_cast<double>(lines_->values.size());
  if (!x_.has_numbers)
    return std::vector<double>(n, std::min(kMostOfAWord / lines, kMostBetweenLines));
  // Without intervals they cover each other only where they are equal, and bands are seen through.
  if (!shown_.has_interval || n >= kFewestOfABand) return shifts;
  const auto place = [&](std::size_t i) {
    return x_.is_logarithmic() ? std::log(x_.places[i]) : x_.places[i];
  };
  const double length = place(n - 1) - place(0);
  const double most = (parts_.panels ? kShiftInPanels : kShift) * length;
  for (std::size_t i = 0; i < n; ++i) {
    const double before = i > 0 ? place(i) - place(i - 1) : length;
    const double after = i + 1 < n ? place(i + 1) - place(i) : length;
    shifts[i] =
        std::clamp(kMostOfAGap * std::min(before, after) / lines, kLeastOfAShift * most, most);
  }
  return shifts;
}

double FigurePanels::shifted(std::size_t at, std::size_t line) const {
  if (lines_ == nullptr) return x_.places[at];
  const auto lines = static_cast<double>(lines_->values.size());
  const double by = (static_cast<double>(line) - (lines - 1) / 2) * shifts_[at];
  return x_.is_logarithmic() ? x_.places[at] * std::exp(by) : x_.places[at] + by;
}

std::string FigurePanels::axes_of_lines(bool has_key) const {
  std::string text =
      fmt::format("set xlabel {}{} noenhanced\nset ylabel {} noenhanced\n", in_quotes(x_.name),
                  has_key ? kLineBelow : "",
                  in_quotes(label_ + (shown_.has_interval ? ", 95 % interval" : "")));
  const Room room = parts_.panels ? kRoomOfPanels : kRoom;
  text += ticks("x", x_, true, ticks_in(room.lines, x_, true));
  const double first = x_.places.front();
  const double last = x_.places.back();
  const double beyond = lines_ == nullptr ? 0
                                          : std::max(shifts_.front(), shifts_.back()) *
                                                static_cast<double>(lines_->values.size() + 1) / 2;
  if (x_.is_logarithmic()) {
    const double gap = std::max(1.15, std::exp(beyond));
    text +=
        fmt::format("set logscale x 2\nset xrange [{:.17g}:{:.17g}]\n", first / gap, last * gap);
  } else {
    const double gap = !x_.has_numbers ? kBesideWords : std::max((last - first) * 0.06, beyond);
    text +=
        fmt::format("unset logscale x\nset xrange [{:.17g}:{:.17g}]\n", first - gap, last + gap);
  }
  if (is_logarithmic_) {
    return text +
           fmt::format("set logscale y\nset yrange [{:.6g}:{:.6g}]\n", reach_.least / 1.1,
                       reach_.most * 1.1) +
           logarithmic_ticks("y", reach_.least, reach_.most);
  }
  const double top = reach_.most > 0 ? reach_.most * 1.05 : 1;
  return text + fmt::format("set yrange [0:{:.6g}]\n", top) + number_ticks("y", 0, top);
}

std::vector<std::span<const FigurePoint>> FigurePanels::stretches(
    std::span<const FigurePoint> points, std::size_t line, std::size_t panel) const {
  std::vector<double> gaps;
  for (const FigureGap& gap : shown_.gaps) {
    const bool is_here = (!parts_.lines || gap.at[*parts_.lines] == line) &&
                         (!parts_.panels || gap.at[*parts_.panels] == panel);
    if (is_here && x_.has_numbers) gaps.push_back(gap.places[parts_.x]);
  }
  const auto place = [&](std::size_t i) { return x_.places[points[i].at[parts_.x]]; };
  std::vector<std::span<const FigurePoint>> found;
  std::size_t first = 0;
  for (std::size_t i = 1; i <= points.size(); ++i) {
    const bool goes_on = i < points.size() && std::ranges::none_of(gaps, [&](double gap) {
                           return place(i - 1) < gap && gap < place(i);
                         });
    if (goes_on) continue;
    found.push_back(points.subspan(first, i - first));
    first = i;
  }
  return found;
}

std::string FigurePanels::add_data(std::span<const std::span<const FigurePoint>> stretches,
                                   std::size_t line, std::string& text) {
  std::string data = next_block();
  text += data + " << EOD\n";
  for (const auto& stretch : stretches) {
    if (&stretch != &stretches.front()) text += "\n";
    for (const FigurePoint& p : stretch) {
      text += fmt::format("{:.17g} {:.9g} {:.9g} {:.9g}\n", shifted(p.at[parts_.x], line),
                          p.value * factor_, p.low * factor_, p.high * factor_);
    }
  }
  text += "EOD\n";
  return data;
}

std::string FigurePanels::lines(std::span<const FigurePoint> points, std::size_t panel) {
  const bool is_beside_ideal = has_ideal(points, parts_.x, x_.values.size());
  const bool has_key = lines_ != nullptr || is_beside_ideal;
  std::string text = axes_of_lines(has_key);
  text += lines_ != nullptr ? fmt::format("set key title {} noenhanced\n", in_quotes(lines_->name))
          : has_key         ? ""
                            : "unset key\n";
  std::vector<std::string> behind;
  std::vector<std::string> front;
  for (std::size_t line = 0; line < (lines_ != nullptr ? lines_->values.size() : 1); ++line) {
    std::vector<FigurePoint> of_line;
    for (const FigurePoint& point : points) {
      if (lines_ == nullptr || point.at[*parts_.lines] == line) of_line.push_back(point);
    }
    std::ranges::sort(of_line, {}, [&](const FigurePoint& p) { return p.at[parts_.x]; });
    if (!of_line.empty()) add_line(line, stretches(of_line, line, panel), text, behind, front);
  }
  if (is_beside_ideal) behind.push_back(ideal(points, text));
  behind.insert(behind.end(), front.begin(), front.end());
  return text + fmt::format("plot {}\n", fmt::join(behind, ", "));
}

void FigurePanels::add_line(std::size_t line,
                            std::span<const std::span<const FigurePoint>> stretches,
                            std::string& text, std::vector<std::string>& behind,
                            std::vector<std::string>& front) {
  std::size_t points = 0;
  std::vector<std::span<const FigurePoint>> alone;
  for (const auto& stretch : stretches) {
    points += stretch.size();
    if (stretch.size() == 1) alone.push_back(stretch);
  }
  const char* const colour = kCurveColours[line];
  const bool has_line = x_.has_numbers;
  const bool is_dense = points >= kFewestOfABand;
  const bool has_band = has_line && is_dense;
  const bool has_marks = !has_line || points <= kMostMarks;
  const std::string marks =
      fmt::format("pointtype {} pointsize {}", kMarks[line], is_dense ? 0.6 : 1.1);
  const auto bars = [&](const std::string& data) {
    return fmt::format(
        "{} using 1:2:3:4 with yerrorbars linewidth 0.8 linecolor rgb '{}' pointtype 0 notitle",
        data, colour);
  };
  const std::string data = add_data(stretches, line, text);
  if (shown_.has_interval && has_band) {
    behind.push_back(
        fmt::format("{} using 1:3:4 with filledcurves fillcolor rgb '{}' fillstyle "
                    "transparent solid 0.15 noborder notitle",
                    data, colour));
  } else if (shown_.has_interval) {
    behind.push_back(bars(data));
  }
  // Neither a band nor a line is seen of one point.
  if (!alone.empty() && has_band) {
    const std::string single = add_data(alone, line, text);
    if (shown_.has_interval) behind.push_back(bars(single));
    if (!has_marks) {
      front.push_back(fmt::format("{} using 1:2 with points linecolor rgb '{}' {} notitle", single,
                                  colour, marks));
    }
  }
  const std::size_t most = parts_.panels ? kMostOfNameInPanels : kMostOfName;
  const std::string title =
      lines_ == nullptr
          ? "notitle"
          : fmt::format("title {} noenhanced", in_quotes(shortened(lines_->labels[line], most)));
  front.push_back(fmt::format("{} using 1:2 with {} linewidth 1.4 linecolor rgb '{}' {} {}", data,
                              !has_line   ? "points"
                              : has_marks ? "linespoints"
                                          : "lines",
                              colour, has_marks ? marks : "", title));
}

std::string FigurePanels::ideal(std::span<const FigurePoint> points, std::string& text) {
  const std::string data = next_block();
  text += data + " << EOD\n";
  for (std::size_t i = 0; i < x_.values.size(); ++i) {
    const auto point =
        std::ranges::find_if(points, [&](const FigurePoint& p) { return p.at[parts_.x] == i; });
    if (point != points.end()) text += fmt::format("{:.17g} {:.9g}\n", x_.places[i], point->ideal);
  }
  text += "EOD\n";
  return fmt::format(
      "{} using 1:2 with lines dashtype 2 linewidth 0.9 linecolor rgb '#888888' "
      "title 'ideal'",
      data);
}

std::string FigurePanels::heat_map(std::span<const FigurePoint> points) {
  const SweptAxis& y = *lines_;
  const Room room = parts_.panels ? kRoomOfPanels : kRoom;
  // Room for the widest number of the scale between it and its name.
  const double wider =
      0.7 * std::max(0., static_cast<double>(fmt::format("{:.4g}", all_.most).size()) - 3);
  std::string text = fmt::format(
      "unset key\nunset logscale x\nunset logscale y\nset xlabel {} noenhanced\nset ylabel {} "
      "noenhanced\nset rmargin {:.3g}\nset cblabel {} noenhanced offset {:.3g},0\n"
      "set xrange [0.5:{}.5]\nset yrange [0.5:{}.5]\n",
      in_quotes(x_.name), in_quotes(y.name), 10.5 + wider, in_quotes(label_), 1 + wider,
      x_.values.size(), y.values.size());
  // One scale for all panels, where a colour is a value: a logarithm leaves small ones apart.
  if (all_.least > 0 && all_.most >= kLogarithmicColours * all_.least)
    text += "set logscale cb\n" + logarithmic_ticks("cb", all_.least, all_.most);
  else
    text += number_ticks("cb", all_.least, all_.most);
  if (all_.most > all_.least)
    text += fmt::format("set cbrange [{:.6g}:{:.6g}]\n", all_.least, all_.most);
  text += ticks("x", x_, false, ticks_in(room.map, x_, false)) + ticks("y", y, false, kMostTicks);
  const std::string data = next_block();
  text += data + " << EOD\n";
  for (const FigurePoint& p : points) {
    text += fmt::format("{} {} {:.9g}\n", p.at[parts_.x] + 1, p.at[*parts_.lines] + 1,
                        p.value * factor_);
  }
  return text + fmt::format(
                    "EOD\nplot {} using 1:2:(0.55):(0.55):3 with boxxyerror fillcolor "
                    "palette fillstyle solid noborder\n",
                    data);
}

}  // namespace steptime
