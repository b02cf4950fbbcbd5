#include "models/learning/digits.h"

#include "sim/config/data_dir.h"
#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kBrightest = 16;

/// Pixels and label of a line.
std::vector<double> parse_line(const TextLine& line) {
  const std::vector<std::string> cells = line.cells();
  if (cells.size() != Digits::kPixels + 1)
    line.fail(fmt::format("{} values", Digits::kPixels + 1), std::to_string(cells.size()));
  std::vector<double> values;
  for (const std::string& cell : cells) {
    const bool is_label = values.size() == Digits::kPixels;
    const auto value = number_in<int>(cell);
    if (!value || *value < 0 || *value > (is_label ? 9 : 16))
      line.fail(is_label ? "a digit" : "a pixel between 0 and 16", cell);
    values.push_back(*value);
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

Digits parse_digits(const std::string& text, const std::string& file) {
  std::vector<std::vector<double>> training;
  std::vector<std::vector<double>> test;
  for (const TextLine& line : text_lines(file, text)) {
    const bool is_test = (training.size() + test.size()) % 4 == 3;
    (is_test ? test : training).push_back(parse_line(line));
  }
  if (test.empty()) throw InputError(file + ": fewer than 4 images");
  return {part_of(training), part_of(test)};
}

}  // namespace

const Digits& digits() {
  struct Kept {
    Kept(const std::string& path, const std::string& text)
        : images(parse_digits(text, path)), file(path, sha1_of(text)) {}
    Digits images;
    KeptInput file;
  };
  static const std::string path = (data_dir() / "traces" / "digits" / "digits.csv").string();
  static const Kept kept(path, text_at(path));
  kept.file.use();
  return kept.images;
}

}  // namespace steptime
