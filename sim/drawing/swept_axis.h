// The axes of a sweep's figure, and their ticks as gnuplot's commands.
#pragma once
#include "sim/drawing/axis_numbers.h"
#include "sim/evidence/comparison.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// A swept key, or the files that results are from, and its values in the order of the axis.
struct SweptAxis {
  std::string pointer;              ///< "" where it is of no swept key, or of several
  std::string name;                 ///< what a figure calls the key
  std::vector<std::string> values;  ///< as cells of a table show them
  std::vector<std::string> labels;  ///< as a figure does: all numbers of an axis are written alike
  /// Where the values stand on the axis: their numbers, or 1, 2, 3, ...
  std::vector<double> places;
  bool has_numbers = false;
  bool is_of_files = false;
  const AxisUnits* units =
      nullptr;  ///< numbers have them; null: these are known by their texts only

  std::size_t index(const std::string& value) const {
    return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) -
                                    values.begin());
  }
  bool is_logarithmic() const {
    return has_numbers && places.front() > 0 && places.back() >= 8 * places.front();
  }
};

/// Those whose values differ.
std::vector<SweptAxis> axes_of(std::span<const ResultRow* const> rows);
/// The files of the results, which are called by their experiments, or where two experiments have
/// one name by their paths; none where all are from one file.
std::optional<SweptAxis> axis_of_files(std::span<const ResultRow* const> rows);
/// Where a result stands on an axis, among its values; none where it has none of them.
std::optional<std::string> value_on(const SweptAxis& axis, const ResultRow& row);
/// Of a single result: all its swept values as the one place of an axis. Throws InputError where it
/// has none.
SweptAxis only_axis(const ResultRow& row);

/// A place on an axis and its label.
using NamedPlace = std::pair<double, std::string>;
/// Of an axis of places: its own values, or round places where these are more than `most`.
std::vector<NamedPlace> named_places(const SweptAxis& axis, std::size_t most);

/// A text as gnuplot reads it.
std::string in_quotes(std::string text);

inline constexpr std::size_t kMostTicks = 7;
/// As many ticks as have room for their labels in so many characters: one, to kMostTicks.
/// `by_place` as in ticks().
std::size_t ticks_in(std::size_t room, const SweptAxis& axis, bool by_place);

/// `set xtics (...)`: some of the axis' own values, at most `most` of them and far enough from each
/// other for their labels; round places where it has many. `by_place`: else values stand at 1, 2,
/// 3, ..., and ticks at those of them that are round.
std::string ticks(const char* which, const SweptAxis& axis, bool by_place, std::size_t most);

/// Of results from `low` to `high`: round numbers.
std::string number_ticks(const char* which, double low, double high);
/// Of a logarithmic axis or scale of colours: 1, 2, 5, 10, ..., or more of them, where powers of
/// ten alone would be few; or these, with their multiples unnamed.
std::string logarithmic_ticks(const char* which, double least, double most);

}  // namespace steptime
