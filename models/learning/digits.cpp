#include "models/learning/digits.h"

#include "sim/config/data_dir.h"
#include "sim/config/json.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kBrightest = 16;

/// Pixels and label of a line.
std::vector<double> parse_line(const std::string& line, const std::string& file,
                               std::size_t number) {
  std::vector<double> values;
  std::istringstream cells(line);
  std::string cell;
  while (std::getline(cells, cell, ',')) {
    char* end = nullptr;
    const long value = std::strtol(cell.c_str(), &end, 10);
    const bool is_label = values.size() == Digits::kPixels;
    if (cell.empty() || *end != '\0' || value < 0 || value > (is_label ? 9 : 16)) {
      throw InputError(fmt::format("{}: line {}: \"{}\" is no {}", file, number, cell,
                                   is_label ? "digit" : "pixel between 0 and 16"));
    }
    values.push_back(static_cast<double>(value));
  }
  if (values.size() != Digits::kPixels + 1) {
    throw InputError(fmt::format("{}: line {}: {} values, expected {}", file, number, values.size(),
                                 Digits::kPixels + 1));
  }
  return values;
}

DigitsPart part_of(const std::vector<std::vector<double>>& rows) {
  DigitsPart part{Matrix(static_cast<Eigen::Index>(rows.size()), Digits::kPixels), {}};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t p = 0; p < Digits::kPixels; ++p)
      part.pixels(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(p)) =
          rows[r][p] / kBrightest;
    part.labels.push_back(static_cast<std::int32_t>(rows[r].back()));
  }
  return part;
}

Digits read_digits() {
  const std::string file = (data_dir() / "traces" / "digits" / "digits.csv").string();
  std::istringstream lines(read_file(file));
  std::vector<std::vector<double>> training;
  std::vector<std::vector<double>> test;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    auto& part = number % 4 == 0 ? test : training;
    part.push_back(parse_line(line, file, number));
  }
  if (test.empty()) throw InputError(file + ": fewer than 4 images");
  return {part_of(training), part_of(test)};
}

}  // namespace

const Digits& digits() {
  static const Digits read = read_digits();
  return read;
}

}  // namespace steptime
