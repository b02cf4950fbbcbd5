#include "sim/experiment/failures.h"

#include "sim/core/error.h"
#include "sim/core/random.h"

#include <algorithm>
#include <cmath>
#include <functional>
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
  const auto draw = [&] { return mtbf * stream.exponential(drawn++); };
  std::vector<double> moments;  // of those that are known
  for (const KnownFailure& failure : known)
    moments.push_back(to_seconds(failure.after));
  std::ranges::sort(moments, std::greater());
  double by_chance = draw();  // from the last failure on, as is what the next line returns
  double last_failure = 0;
  const auto next_failure = [&] {
    double wait = by_chance;
    if (!moments.empty() && moments.back() - last_failure <= by_chance) {
      wait = moments.back() - last_failure;
      moments.pop_back();
      by_chance -= wait;
    } else {
      by_chance = draw();
    }
    last_failure += wait;
    return wait;
  };
  const double write = to_seconds(checkpoint);
  const double start = to_seconds(restart);
  constexpr double kRounding = 1e-9;  // of a part: what exceeds the last one by less is none
  const double parts = std::max(std::ceil(work / part - kRounding), 1.0);
  const double last = (parts > 1 ? work - (parts - 1) * part : work) + write;
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

namespace {

const Bindings<KnownFailure>& known_failure_keys() {
  using K = KnownFailure;
  static const Bindings<K> keys{
      {&K::node, "node", "from 0 on", kRequired, between(0, 1e9)},
      {&K::after, "after", "the start of the training", kRequired, kNotNegative}};
  return keys;
}

}  // namespace

const Bindings<Failures>& failure_keys() {
  using F = Failures;
  static const Bindings<F> keys{
      {&F::steps, "steps", "of the whole training", kRequired, between(1, 1e15)},
      {&F::per_node_and_day, "per_node_and_day",
       "failures of a node in a day by chance, any of which stops all nodes; 0: none; default: as "
       "of 2,048 nodes with 8 H100 in 54 days (Llama 3, 2024)",
       419. / (54 * 2048), between(0, 1e6)},
      {&F::checkpoint, "checkpoint", "how long one is written, while nothing is trained", kRequired,
       kNotNegative},
      {&F::restart, "restart", "from a failure until the training goes on", kRequired,
       kNotNegative},
      {&F::interval, "interval", "of work between checkpoints; default: the best, by Daly 2006",
       nullptr, kPositive},
      {{.key = "nodes",
        .kind = Kind::kList,
        .help =
            "failures that are known, beside those by chance: a list of objects such as "
            "`{\"node\": 3, \"after\": \"2 h\"}`, by node, from 0 on, and time from the start of "
            "the training",
        .need = Need::kDefault,
        .fallback = Json::array()},
       [](const Config& config, F& failures) {
         for (const Config& node : config.objects("nodes", known_failure_keys().params()))
           failures.known.push_back(known_failure_keys().read(node));
       }},
      {&F::seeds, "seeds", "trainings, each with failures of its own", 1000, between(1, 1e6)}};
  return keys;
}

}  // namespace steptime
