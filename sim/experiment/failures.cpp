#include "sim/experiment/failures.h"

#include "sim/core/error.h"
#include "sim/core/random.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace steptime {

double Failures::seconds_between(std::int64_t nodes) const {
  constexpr double kDay = 86400;
  return kDay / (per_node_and_day * static_cast<double>(nodes));
}

double Failures::best_interval(double mtbf) const {
  const double write = to_seconds(checkpoint);
  if (write >= 2 * mtbf) return mtbf;
  const double ratio = write / (2 * mtbf);
  return std::sqrt(2 * write * mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - write;
}

double Failures::play(double work, double part, double mtbf, std::int64_t seed) const {
  const RandomStream stream(seed, Purpose::kFailure);
  std::uint32_t drawn = 0;
  const auto next_failure = [&] { return mtbf * stream.exponential(drawn++); };
  const double write = to_seconds(checkpoint);
  const double start = to_seconds(restart);
  constexpr double kRounding = 1e-9;  // of a part: what exceeds the last one by less is none
  const double parts = std::max(std::ceil(work / part - kRounding), 1.0);
  const double last = work - (parts - 1) * part + write;
  double done = 0;  // parts
  double time = 0;
  double failure = next_failure();  // from now on
  for (;;) {
    const double rest = (parts - 1 - done) * (part + write) + last;
    if (failure >= rest) return time + rest;
    done += std::min(std::floor(failure / (part + write)), parts - 1 - done);
    time += failure;
    while ((failure = next_failure()) < start)
      time += failure;
    time += start;
    failure -= start;
  }
}

FailureTimes Failures::times(double step_s, std::int64_t nodes, std::int64_t seed) const {
  const double mtbf = seconds_between(nodes);
  const double work = step_s * static_cast<double>(steps);
  FailureTimes times{.interval =
                         std::max(interval ? to_seconds(*interval) : best_interval(mtbf), step_s)};
  const double expected = std::exp(to_seconds(restart) / mtbf) *
                          std::expm1((times.interval + to_seconds(checkpoint)) / mtbf) * work /
                          times.interval;  // in M: so many failures
  constexpr double kMost = 1e8;
  if (!(expected * static_cast<double>(seeds) <= kMost)) {
    throw PlacedError(fmt::format(
        "/run/failures: a failure every {:.3g} s; {} trainings of {:.3g} s meet about {:.1g}, at "
        "most {:.0g} are played",
        mtbf, seeds, work, expected * static_cast<double>(seeds), kMost));
  }
  std::vector<double> all;
  for (std::int64_t s = 0; s < seeds; ++s) {
    all.push_back(play(work, times.interval, mtbf, seed + s));
    times.mean += all.back() / static_cast<double>(seeds);
  }
  times.percentiles = percentiles_of(std::move(all));
  times.useful_share = work / times.mean;
  return times;
}

const Bindings<Failures>& failure_keys() {
  using F = Failures;
  static const Bindings<F> keys{
      {&F::steps, "steps", "of the whole training", kRequired, between(1, 1e15)},
      {&F::per_node_and_day, "per_node_and_day",
       "failures of a node in a day, any of which stops all nodes; default: as of 2,048 nodes with "
       "8 H100 in 54 days (Llama 3, 2024)",
       419. / (54 * 2048), Range{.low = 0, .high = 1e6, .low_is_allowed = false}},
      {&F::checkpoint, "checkpoint", "how long one is written, while nothing is trained", kRequired,
       kNotNegative},
      {&F::restart, "restart", "from a failure until the training goes on", kRequired,
       kNotNegative},
      {&F::interval, "interval", "of work between checkpoints; default: the best, by Daly 2006",
       nullptr, kPositive},
      {&F::seeds, "seeds", "trainings, each with failures of its own", 1000, between(1, 1e6)}};
  return keys;
}

}  // namespace steptime
