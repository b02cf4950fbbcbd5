// The panels of a figure, which share their scales, as gnuplot's commands: lines over an axis, one
// for each value of another one, or a heat map of both where these are many. Over words, between
// which nothing is, there are points instead of lines.
#pragma once
#include "sim/drawing/figure_points.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// Which axis has which part in a figure, by their places among its axes.
struct FigureParts {
  std::size_t x = 0;
  std::optional<std::size_t> lines{};
  std::optional<std::size_t> panels{};
};

class FigurePanels {
 public:
  /// `shown` lives on.
  FigurePanels(const FigurePoints& shown, const FigureParts& parts);

  /// The panel of a value of the panels' axis, or the only one; "" where no point is on it.
  std::string panel(std::size_t value = 0);

 private:
  struct Extent {
    double least;
    double most;
  };

  std::string lines(std::span<const FigurePoint> points, std::size_t panel);
  std::vector<double> shifts_of_lines() const;
  /// Where on the x axis a line has its point of the value `at`.
  double shifted(std::size_t at, std::size_t line) const;
  std::string axes_of_lines(bool has_key) const;
  /// Of a line, in their order along x: what lies between two gaps.
  std::vector<std::span<const FigurePoint>> stretches(std::span<const FigurePoint> points,
                                                      std::size_t line, std::size_t panel) const;
  /// A block of data, whose lines gnuplot breaks between stretches: its name.
  std::string add_data(std::span<const std::span<const FigurePoint>> stretches, std::size_t line,
                       std::string& text);
  /// A line's data go to `text`, what is drawn behind all lines to `behind`, and what in front of
  /// that to `front`.
  void add_line(std::size_t line, std::span<const std::span<const FigurePoint>> stretches,
                std::string& text, std::vector<std::string>& behind,
                std::vector<std::string>& front);
  /// A dashed line of the ideal speedups.
  std::string ideal(std::span<const FigurePoint> points, std::string& text);
  std::string heat_map(std::span<const FigurePoint> points);
  /// The name of the next block of data.
  std::string next_block() { return "$d" + std::to_string(blocks_++); }

  const FigurePoints& shown_;
  FigureParts parts_;
  const SweptAxis& x_;
  const SweptAxis* lines_;  ///< null: there is one line
  std::string label_;       ///< what the results are called and measured in
  double factor_ = 1;       ///< from a result to what is drawn
  Extent all_{};            ///< the results as they are drawn
  Extent reach_{};          ///< the same with intervals and ideal ones
  bool is_logarithmic_ = false;
  /// At each value of the x axis from a line to the next: in logarithms where that is its scale.
  std::vector<double> shifts_;
  std::size_t blocks_ = 0;
};

}  // namespace steptime
