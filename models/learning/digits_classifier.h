// What the models that classify digits share: softmax, cross-entropy and the test.
//
// Same bytes everywhere: products are Eigen's lazy ones and its vector code is off, so
// that sums run in the order of the index; exp and log are elementary.h's; fused multiply-add is
// off for the whole program.
#pragma once
#include "models/learning/digits.h"
#include "models/learning/elementary.h"
#include "sim/learning/learning.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

using ConstMatrixMap = Eigen::Map<const Matrix>;
using MatrixMap = Eigen::Map<Matrix>;

class DigitsClassifier : public Problem {
 public:
  std::int64_t samples() const final {
    return static_cast<std::int64_t>(data_.training.labels.size());
  }
  std::int32_t label(std::int32_t sample) const final {
    return data_.training.labels[static_cast<std::size_t>(sample)];
  }
  Score test(std::span<const double> w) const final {
    Matrix scores = this->scores(w, data_.test.pixels);
    const Eigen::Index rows = scores.rows();
    double right = 0;
    double loss = 0;
    for (Eigen::Index r = 0; r < rows; ++r) {
      const Eigen::Index label = data_.test.labels[static_cast<std::size_t>(r)];
      Eigen::Index best = 0;
      scores.row(r).maxCoeff(&best);
      right += best == label ? 1 : 0;
      softmax(scores, r);
      constexpr double kTiny = 1e-300;
      loss -= portable_log(std::max(scores(r, label), kTiny));
    }
    return {right / static_cast<double>(rows), loss / static_cast<double>(rows)};
  }

 protected:
  /// One row of class scores per row of `pixels`.
  virtual Matrix scores(std::span<const double> w, const Matrix& pixels) const = 0;

  Matrix pixels(std::span<const std::int32_t> samples) const {
    Matrix some(static_cast<Eigen::Index>(samples.size()), Digits::kPixels);
    for (std::size_t i = 0; i < samples.size(); ++i)
      some.row(static_cast<Eigen::Index>(i)) = data_.training.pixels.row(samples[i]);
    return some;
  }

  /// Turns scores into the gradient of the mean cross-entropy with respect to them.
  void to_gradient(Matrix& scores, std::span<const std::int32_t> samples) const {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto r = static_cast<Eigen::Index>(i);
      softmax(scores, r);
      scores(r, label(samples[i])) -= 1;
      for (Eigen::Index k = 0; k < scores.cols(); ++k)
        scores(r, k) /= static_cast<double>(samples.size());
    }
  }

 private:
  static void softmax(Matrix& scores, Eigen::Index row) {
    double most = scores(row, 0);
    for (Eigen::Index k = 1; k < scores.cols(); ++k)
      most = std::max(most, scores(row, k));
    double sum = 0;
    for (Eigen::Index k = 0; k < scores.cols(); ++k) {
      scores(row, k) = portable_exp(scores(row, k) - most);
      sum += scores(row, k);
    }
    for (Eigen::Index k = 0; k < scores.cols(); ++k)
      scores(row, k) /= sum;
  }

  const Digits& data_ = digits();
};

}  // namespace steptime
