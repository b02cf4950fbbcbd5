// Softmax regression on handwritten digits: 64 pixels, 10 classes, 650 parameters (weights by
// class, then biases), starting at zero.
#include "models/learning/digits_classifier.h"

#include <memory>

namespace steptime {
namespace {

class Softmax final : public DigitsClassifier {
 public:
  std::size_t parameters() const override { return kWeights + Digits::kClasses; }
  std::vector<double> initial(std::int64_t) const override {
    return std::vector<double>(parameters());
  }
  void gradient(std::span<const double> w, std::span<const std::int32_t> samples,
                std::span<double> gradient) const override {
    const Matrix x = pixels(samples);
    Matrix delta = scores(w, x);
    to_gradient(delta, samples);
    MatrixMap weights(gradient.data(), Digits::kClasses, Digits::kPixels);
    weights = delta.transpose().lazyProduct(x);
    for (Eigen::Index k = 0; k < Digits::kClasses; ++k)
      gradient[kWeights + static_cast<std::size_t>(k)] = delta.col(k).sum();
  }

 protected:
  Matrix scores(std::span<const double> w, const Matrix& x) const override {
    const ConstMatrixMap weights(w.data(), Digits::kClasses, Digits::kPixels);
    Matrix scores = x.lazyProduct(weights.transpose());
    for (Eigen::Index k = 0; k < Digits::kClasses; ++k)
      scores.col(k).array() += w[kWeights + static_cast<std::size_t>(k)];
    return scores;
  }

 private:
  static constexpr std::size_t kWeights = std::size_t{Digits::kClasses} * Digits::kPixels;
};

const bool kRegistered =
    Problems::instance().add("digits-softmax", "softmax regression on 8 x 8 handwritten digits", {},
                             [](const Config&) { return std::make_unique<Softmax>(); });

}  // namespace
}  // namespace steptime
