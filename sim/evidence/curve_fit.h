// Piecewise alpha-beta lines with change points, fitted to measured times of a collective.
//
// Times of a size are made one by their trimmed mean in logarithms over the rounds. A size whose
// time agrees neither with its neighbours below nor with those above is no measurement of the
// collective and is left out. Where lines begin and end is found exactly, by dynamic programming
// over squared relative errors and a price for each line; the price is the one with which every
// second size predicts the others best. Within a line, relative least squares with Tukey's weights.
//
// The 95 % interval: whole rounds are resampled, as what disturbs a round disturbs all of its
// sizes, and what the logarithms scatter is widened by Student's t. A single round has nothing to
// resample: there the interval is what predicting every second size missed.
#pragma once
#include "sim/collective/profile.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// Measured times of one size in seconds, all positive; entry r was measured in round r.
struct SizeTimes {
  std::int64_t bytes = 0;
  std::vector<double> seconds;
};

struct FitOptions {
  std::int64_t resamples = 400;
  std::int64_t seed = 1;
};

struct Fit {
  MeasuredOperation operation;         ///< `ranks` is left to the caller
  std::vector<std::int64_t> outliers;  ///< sizes that were not believed
};

/// Sizes increase strictly and have the same number of rounds; at least two, or 0 B alone for what
/// has no size, as a kernel's launch. Throws InputError.
Fit fit_curve(std::span<const SizeTimes> sizes, const FitOptions& options = {});

/// How well a fit of every second size (the first, the third, ...) predicts the others between
/// them.
struct HeldOut {
  std::size_t sizes = 0;
  double mean_pct = 0;   ///< mean of |predicted / measured - 1|, in per cent
  double worst_pct = 0;  ///< signed
  std::int64_t worst_bytes = 0;
};
HeldOut hold_out(std::span<const SizeTimes> sizes);

/// A size that would say most if it were measured next.
struct NextSize {
  std::int64_t bytes = 0;
  double doubt_pct = 0;  ///< by how much the prediction there may be wrong
  std::string reason;
};
/// The worst first, at most `most`, none of less than 1 %.
std::vector<NextSize> advice(std::span<const SizeTimes> sizes, const Fit& fit,
                             std::size_t most = 5);

}  // namespace steptime
