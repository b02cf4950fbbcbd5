// A perceptron with one hidden layer of rectified linear units on handwritten digits.
//
// Parameters: hidden [units]. In order: hidden weights by unit, hidden biases, output weights by
// class, output biases. Weights start uniform in +-sqrt(6 / (inputs + outputs)) (Glorot and Bengio,
// AISTATS 2010, equation 16), biases at zero.
#include "models/learning/digits_classifier.h"
#include "sim/core/random.h"

#include <cmath>
#include <memory>

namespace steptime {
namespace {

const Params kParams{{.key = "hidden",
                      .kind = Kind::kInteger,
                      .help = "units of the hidden layer",
                      .need = Need::kDefault,
                      .fallback = 32,
                      .range = {.low = 1, .high = 4096}}};

class Mlp final : public DigitsClassifier {
 public:
  explicit Mlp(std::int64_t hidden) : hidden_(hidden) {}

  std::size_t parameters() const override {
    return static_cast<std::size_t>(hidden_ * (Digits::kPixels + 1) +
                                    Digits::kClasses * (hidden_ + 1));
  }
  std::vector<double> initial(std::int64_t seed) const override {
    std::vector<double> w(parameters());
    const RandomStream random(seed, Purpose::kWeights);
    std::uint32_t drawn = 0;
    const auto fill = [&](Eigen::Index from, Eigen::Index outputs, Eigen::Index inputs) {
      const double bound = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
      for (Eigen::Index i = from; i < from + outputs * inputs; ++i) {
        w[static_cast<std::size_t>(i)] = bound * (2 * random.uniform(0, drawn++) - 1);
      }
    };
    fill(0, hidden_, Digits::kPixels);
    fill(second_weights(), Digits::kClasses, hidden_);
    return w;
  }
  void gradient(std::span<const double> w, std::span<const std::int32_t> samples,
                std::span<double> gradient) const override {
    const Matrix x = pixels(samples);
    const Matrix h = hidden(w, x);
    Matrix delta = output(w, h);
    to_gradient(delta, samples);
    MatrixMap(&gradient[static_cast<std::size_t>(second_weights())], Digits::kClasses, hidden_) =
        delta.transpose().lazyProduct(h);
    for (Eigen::Index k = 0; k < Digits::kClasses; ++k)
      gradient[static_cast<std::size_t>(second_biases() + k)] = delta.col(k).sum();
    const ConstMatrixMap out(&w[static_cast<std::size_t>(second_weights())], Digits::kClasses,
                             hidden_);
    Matrix back = delta.lazyProduct(out);
    for (Eigen::Index r = 0; r < back.rows(); ++r) {
      for (Eigen::Index u = 0; u < hidden_; ++u) {
        if (h(r, u) <= 0) back(r, u) = 0;
      }
    }
    MatrixMap(gradient.data(), hidden_, Digits::kPixels) = back.transpose().lazyProduct(x);
    for (Eigen::Index u = 0; u < hidden_; ++u)
      gradient[static_cast<std::size_t>(first_biases() + u)] = back.col(u).sum();
  }

 protected:
  Matrix scores(std::span<const double> w, const Matrix& x) const override {
    return output(w, hidden(w, x));
  }

 private:
  Eigen::Index first_biases() const { return hidden_ * Digits::kPixels; }
  Eigen::Index second_weights() const { return first_biases() + hidden_; }
  Eigen::Index second_biases() const { return second_weights() + Digits::kClasses * hidden_; }

  Matrix hidden(std::span<const double> w, const Matrix& x) const {
    const ConstMatrixMap weights(w.data(), hidden_, Digits::kPixels);
    Matrix h = x.lazyProduct(weights.transpose());
    for (Eigen::Index r = 0; r < h.rows(); ++r) {
      for (Eigen::Index u = 0; u < hidden_; ++u)
        h(r, u) = std::max(0.0, h(r, u) + w[static_cast<std::size_t>(first_biases() + u)]);
    }
    return h;
  }
  Matrix output(std::span<const double> w, const Matrix& h) const {
    const ConstMatrixMap weights(&w[static_cast<std::size_t>(second_weights())], Digits::kClasses,
                                 hidden_);
    Matrix scores = h.lazyProduct(weights.transpose());
    for (Eigen::Index k = 0; k < Digits::kClasses; ++k)
      scores.col(k).array() += w[static_cast<std::size_t>(second_biases() + k)];
    return scores;
  }

  Eigen::Index hidden_;
};

const bool kRegistered = Problems::instance().add(
    "digits-mlp", "one hidden layer on 8 x 8 handwritten digits", kParams,
    [](const Config& c) { return std::make_unique<Mlp>(c.get<std::int64_t>("hidden")); });

}  // namespace
}  // namespace steptime
