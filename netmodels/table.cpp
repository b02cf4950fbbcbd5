// A collective given by measurement as a table of sizes and times, piecewise linear in between.
//
// Scope: one number of workers, the one that it was measured on; no contention. Below the first and
// above the last size the nearest segment is prolonged, and the result says so ("domain"); with
// extrapolate = "refuse" such a size is an input error.
// Parameters: file (CSV with a header "bytes,time_us", sizes increasing, # starts a comment),
// extrapolate.
// Where a measured time falls with size, the larger of the two stands: a collective that gets
// faster with more data is noise, and schedules rely on a time that does not decrease.
#include "sim/collective/collective.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/math/statistics/linear_regression.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{{.key = "file", .kind = Kind::kPath, .help = "CSV: bytes,time_us"},
                     {.key = "extrapolate",
                      .kind = Kind::kText,
                      .help = "outside the table: flag it, or refuse",
                      .need = Need::kDefault,
                      .fallback = "flag",
                      .words = {"flag", "refuse"}}};

struct Point {
  double bytes;
  double seconds;
};

double read_number(const TextLine& line, const std::string& cell) {
  const auto value = number_in<double>(cell);
  if (!value || !std::isfinite(*value) || *value < 0)
    line.fail("a number that is not negative", trimmed(cell));
  return *value;
}

/// Whether a line is two numbers.
bool is_row(std::string_view line) {
  const std::size_t comma = line.find(',');
  return comma != line.npos && number_in<double>(line.substr(0, comma)) &&
         number_in<double>(line.substr(comma + 1));
}

std::vector<Point> read_table(const std::string& text, const std::string& file) {
  constexpr std::string_view kHead = "bytes,time_us";
  std::vector<Point> points;
  bool is_table = false;  // it may be any file until then, which is not quoted
  for (const TextLine& line : text_lines(file, text)) {
    if (line.is_comment()) continue;
    const bool is_head = line.text() == kHead;
    if (!std::exchange(is_table, true) && !is_head && !is_row(line.text()))
      throw InputError(fmt::format("{}: expected a table of \"{}\"", file, kHead));
    if (is_head) continue;
    const std::vector<std::string> cells = line.cells();
    if (cells.size() != 2) line.fail("\"bytes,time_us\"");
    const Point point{read_number(line, cells[0]), read_number(line, cells[1]) * 1e-6};
    if (!points.empty() && point.bytes <= points.back().bytes) {
      line.fail(fmt::format("a size above {}", points.back().bytes), cells[0]);
    }
    points.push_back({point.bytes, points.empty()
                                       ? point.seconds
                                       : std::max(point.seconds, points.back().seconds)});
  }
  if (points.size() < 2) {
    throw InputError(fmt::format("{}: expected at least two rows, got {}", file, points.size()));
  }
  return points;
}

class Table final : public Collective {
 public:
  explicit Table(const Config& c)
      : file_(c.get<std::string>("file")),
        points_(read_table(c.text_of("file"), file_)),
        refuses_(c.get<std::string>("extrapolate") == "refuse") {}

  Duration time(Bytes m) const override {
    if (refuses_ && !outside_domain(m).empty()) throw InputError(file_ + ": " + outside_domain(m));
    const auto bytes = static_cast<double>(m.count);
    auto right = std::lower_bound(points_.begin() + 1, points_.end() - 1, bytes,
                                  [](const Point& p, double x) { return p.bytes < x; });
    return from_seconds(std::max(0.0, on_line(*(right - 1), *right, bytes)));
  }

  /// The intercept of the least-squares line through the table, as 004 section V.A obtains it.
  Duration startup() const override {
    std::vector<double> bytes;
    std::vector<double> seconds;
    for (const Point& p : points_) {
      bytes.push_back(p.bytes);
      seconds.push_back(p.seconds);
    }
    using boost::math::statistics::simple_ordinary_least_squares;
    return from_seconds(std::max(0.0, simple_ordinary_least_squares(bytes, seconds).first));
  }

  std::string outside_domain(Bytes m) const override {
    const auto bytes = static_cast<double>(m.count);
    if (bytes >= points_.front().bytes && bytes <= points_.back().bytes) return "";
    return fmt::format("{} B is outside the measured {} to {} B", m.count, points_.front().bytes,
                       points_.back().bytes);
  }

 private:
  static double on_line(const Point& left, const Point& right, double bytes) {
    return std::lerp(left.seconds, right.seconds,
                     (bytes - left.bytes) / (right.bytes - left.bytes));
  }

  std::string file_;
  std::vector<Point> points_;
  bool refuses_;
};

const bool kRegistered = Collectives::instance().add(
    "table", "measured sizes and times, piecewise linear", kParams,
    [](const Config& c, const Cluster&) { return std::make_unique<Table>(c); });

}  // namespace
}  // namespace steptime
