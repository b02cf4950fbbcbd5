// Handwritten digits: 1,797 images of 8 x 8 pixels (traces/digits/), a quarter of them for testing.
#pragma once
#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace steptime {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct DigitsPart {
  Matrix pixels;  ///< one image per row, scaled to [0, 1]
  std::vector<std::int32_t> labels;
};
struct Digits {
  static constexpr std::int32_t kClasses = 10;
  static constexpr std::int32_t kPixels = 64;
  DigitsPart training;
  DigitsPart test;  ///< every fourth image
};

/// Read once. Throws InputError for a file that is not as described.
const Digits& digits();

}  // namespace steptime
