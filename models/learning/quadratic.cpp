// A quadratic bowl with a known optimum: the loss of sample s at w is
//
//   1/2 sum_i h_i (w_i - o_i - e_si)^2,   o_i = i + 1,   h_i from 1 down to 1 / condition
//
// where the e_si of samples 2j and 2j + 1 are opposite, so that the mean gradient is h_i (w_i -
// o_i) and o is the optimum. The start is zero. The test's accuracy is 1 / (1 + loss), its loss 1/2
// sum_i h_i (w_i - o_i)^2.
//
// Parameters: dimensions, samples (even), condition (largest over smallest h), noise (of e).
#include "sim/core/random.h"
#include "sim/learning/learning.h"

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace steptime {
namespace {

const Params kParams{{.key = "dimensions",
                      .kind = Kind::kInteger,
                      .help = "how many parameters there are",
                      .need = Need::kDefault,
                      .fallback = 10,
                      .range = {.low = 1, .high = 1e6}},
                     {.key = "samples",
                      .kind = Kind::kInteger,
                      .help = "of the training data, an even number",
                      .need = Need::kDefault,
                      .fallback = 1000,
                      .range = {.low = 2, .high = 1e7}},
                     {.key = "condition",
                      .kind = Kind::kNumber,
                      .help = "largest over smallest curvature",
                      .need = Need::kDefault,
                      .fallback = 1,
                      .range = {.low = 1, .high = 1e9}},
                     {.key = "noise",
                      .kind = Kind::kNumber,
                      .help = "standard deviation of a sample's own optimum",
                      .need = Need::kDefault,
                      .fallback = 0,
                      .range = kNotNegative}};

class Quadratic final : public Problem {
 public:
  explicit Quadratic(const Config& c)
      : samples_(c.get<std::int64_t>("samples")), noise_(c.get<double>("noise")) {
    if (samples_ % 2 != 0) c.fail("samples", "expected an even number");
    const auto n = static_cast<std::size_t>(c.get<std::int64_t>("dimensions"));
    const double least = 1 / c.get<double>("condition");
    for (std::size_t i = 0; i < n; ++i) {
      const double place = n == 1 ? 0 : static_cast<double>(i) / static_cast<double>(n - 1);
      curvature_.push_back(1 - place * (1 - least));
    }
  }

  std::size_t parameters() const override { return curvature_.size(); }
  std::int64_t samples() const override { return samples_; }
  std::int32_t label(std::int32_t sample) const override { return sample % 2; }
  std::vector<double> initial(std::int64_t) const override {
    return std::vector<double>(parameters());
  }
  void gradient(std::span<const double> w, std::span<const std::int32_t> samples,
                std::span<double> gradient) const override {
    for (std::size_t i = 0; i < w.size(); ++i) {
      double sum = 0;
      for (const std::int32_t s : samples)
        sum += curvature_[i] * (w[i] - optimum(i) - error(s, i));
      gradient[i] = sum / static_cast<double>(samples.size());
    }
  }
  Score test(std::span<const double> w) const override {
    double loss = 0;
    for (std::size_t i = 0; i < w.size(); ++i)
      loss += 0.5 * curvature_[i] * (w[i] - optimum(i)) * (w[i] - optimum(i));
    if (!std::isfinite(loss)) return {0, std::numeric_limits<double>::max()};  // diverged
    return {1 / (1 + loss), loss};
  }

 private:
  static double optimum(std::size_t i) { return static_cast<double>(i + 1); }
  double error(std::int32_t sample, std::size_t i) const {
    if (noise_ == 0) return 0;
    const double drawn =
        noise_ * RandomStream(0, Purpose::kProblem)
                     .normal(static_cast<std::uint32_t>(sample / 2), static_cast<std::uint32_t>(i));
    return sample % 2 == 0 ? drawn : -drawn;
  }

  std::int64_t samples_;
  double noise_;
  std::vector<double> curvature_;
};

const bool kRegistered =
    Problems::instance().add("quadratic", "a bowl with a known optimum, for tests", kParams,
                             [](const Config& c) { return std::make_unique<Quadratic>(c); });

}  // namespace
}  // namespace steptime
