// The axes of a sweep's figure, and their ticks as gnuplot's commands.
#pragma once
#include "sim/evidence/comparison.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// A swept key and its values in the order of the axis.
struct SweptAxis {
  std::string pointer;
  std::vector<std::string> values;  ///< as cells of a table show them
  /// Where the values stand on the axis: their numbers, or 1, 2, 3, ...
  std::vector<double> places;
  bool has_numbers = false;
  bool has_units = false;  ///< quantities, whose numbers say nothing without the text

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

/// A text as gnuplot reads it.
std::string in_quotes(std::string text);

inline constexpr std::size_t kMostTicks = 7;
/// As many ticks as have room for their labels in so many characters: one, to kMostTicks.
std::size_t ticks_in(std::size_t room, const SweptAxis& axis);

/// `set xtics (...)`: some of the axis' own values, at most `most` of them and far enough from each
/// other for their labels; round numbers where it has many. `by_place`: else values stand at 1, 2,
/// 3, ...
std::string ticks(const char* which, const SweptAxis& axis, bool by_place, std::size_t most);

/// Of a logarithmic axis or scale of colours: 1, 2, 5, 10, ..., or more of them, where powers of
/// ten alone would be few.
std::string logarithmic_ticks(const char* which, double least, double most);

}  // namespace steptime
