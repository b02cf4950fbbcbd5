#include "sim/drawing/figure_points.h"

#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/experiment/figures.h"
#include "sim/sweeps/values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::size_t kMostAxes = 3;

std::string default_key(std::span<const SweptAxis> axes) {
  const bool over_nodes =
      std::any_of(axes.begin(), axes.end(),
                  [](const SweptAxis& a) { return a.pointer == "/cluster/nodes"; }) &&
      std::all_of(axes.begin(), axes.end(), [](const SweptAxis& a) {
        return a.pointer == "/cluster/nodes" || a.pointer == "/strategy/schedule/type" ||
               a.is_of_files;
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

/// Those of swept keys, and that of files.
std::vector<SweptAxis> varying(std::span<const ResultRow* const> rows) {
  std::vector<SweptAxis> axes = axes_of(rows);
  if (auto files = axis_of_files(rows)) axes.push_back(std::move(*files));
  return axes;
}

void check_number(std::span<const SweptAxis> axes) {
  if (axes.size() <= kMostAxes) return;
  std::vector<std::string> names;
  for (const SweptAxis& axis : axes)
    names.push_back(axis.is_of_files ? axis.name : axis.pointer);
  throw InputError(
      fmt::format("{} values differ ({}), expected at most three; --where /pointer=value takes "
                  "the points with one value",
                  axes.size(), fmt::join(names, ", ")));
}

/// "1 of 4 points", "all 4 points", "the only point".
std::string part(std::size_t count, std::size_t all) {
  if (all == 1) return "the only point";
  return count == all ? fmt::format("all {} points", all)
                      : fmt::format("{} of {} points", count, all);
}

/// What `left_out` of a figure says of the rows that lack its key.
std::string about(std::span<const ResultRow* const> lacking, std::size_t all,
                  const std::string& key) {
  std::vector<std::string> errors;
  for (const ResultRow* row : lacking) {
    const Json error = row->figures.value("error", Json());
    if (!error.is_null())
      errors.push_back(error.is_string() ? error.get<std::string>() : error.dump());
  }
  std::vector<std::string> parts;
  if (!errors.empty()) {
    parts.push_back(fmt::format("{} failed, {}: {}", part(errors.size(), all),
                                errors.size() > 1 ? "the first" : "as", one_line(errors.front())));
  }
  if (const std::size_t others = lacking.size() - errors.size(); others > 0) {
    parts.push_back(
        fmt::format("{} {} no {}", part(others, all), others > 1 ? "have" : "has", key));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

FigureGap gap_of(const ResultRow& row, std::span<const SweptAxis> axes) {
  FigureGap gap;
  for (const SweptAxis& axis : axes) {
    const auto value = value_on(axis, row);
    gap.at.push_back(value ? axis.index(*value) : axis.values.size());
    const Json params = row.figures.value("params", Json::object());
    const auto place = place_on_axis(params.value(axis.pointer, Json()));
    gap.places.push_back(place.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return gap;
}

std::string unknown_key(const std::string& key, std::span<const std::string> known) {
  const std::string guess = closest(key, known);
  return fmt::format("unknown {}{}", brief(key),
                     guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess));
}

[[noreturn]] void fail_without(const std::string& key, const std::string& left_out) {
  std::vector<std::string> known;
  for (const Figure& f : figures()) {
    if (f.number != nullptr || f.integer != nullptr) known.emplace_back(f.key);
  }
  throw InputError(std::find(known.begin(), known.end(), key) == known.end()
                       ? fmt::format("--key: {}; steptime list result prints what there is",
                                     unknown_key(key, known))
                       : left_out);
}

}  // namespace

FigurePoints figure_points(std::span<const ResultRow> rows, const FigureRequest& request) {
  const std::vector<const ResultRow*> asked_for = chosen(rows, request);
  FigurePoints found{.key = request.key.empty() ? default_key(varying(asked_for)) : request.key};
  std::vector<const ResultRow*> shown;
  std::vector<const ResultRow*> lacking;
  for (const ResultRow* row : asked_for) {
    const Json value = row->figures.value(found.key, Json());
    (value.is_number() ? shown : lacking).push_back(row);
  }
  found.left_out = about(lacking, asked_for.size(), found.key);
  if (shown.empty()) fail_without(found.key, found.left_out);
  found.axes = varying(shown);
  const bool is_single = found.axes.empty();
  if (is_single && shown.size() > 1)
    throw InputError("expected results that differ in a swept value");
  if (is_single) found.axes = {only_axis(*shown.front())};
  found.has_interval = found.key == "step_time_s";
  const bool of_files = std::any_of(found.axes.begin(), found.axes.end(),
                                    [](const SweptAxis& axis) { return axis.is_of_files; });
  for (const ResultRow* row : shown) {
    const Json& figures = row->figures;
    FigurePoint point{.value = figures[found.key].get<double>()};
    point.low = point.high = point.value;
    if (found.has_interval && figures.contains("step_time_interval_s")) {
      point.low = figures["step_time_interval_s"].at(0).get<double>();
      point.high = figures["step_time_interval_s"].at(1).get<double>();
    }
    if (found.key == "speedup" && !is_single && figures.contains("scaling_efficiency"))
      point.ideal = std::round(point.value / figures["scaling_efficiency"].get<double>());
    if (is_single) point.at = {0};
    for (const SweptAxis& axis : is_single ? std::span<const SweptAxis>() : std::span(found.axes)) {
      const auto value = value_on(axis, *row);
      if (!value) {
        throw InputError(fmt::format("{}: has no {}, as others have: expected results of one sweep",
                                     of_files ? row->file : row->label, axis.pointer));
      }
      point.at.push_back(axis.index(*value));
    }
    found.points.push_back(std::move(point));
  }
  check_number(found.axes);
  for (const ResultRow* row : lacking)
    found.gaps.push_back(gap_of(*row, found.axes));
  return found;
}

}  // namespace steptime
