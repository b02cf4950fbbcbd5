#include "sim/learning/learning.h"

#include "sim/core/error.h"
#include "sim/core/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {

std::int64_t Convergence::steps(std::int64_t workers) const {
  const double samples = epochs * static_cast<double>(problem->samples());
  return std::max<std::int64_t>(1, std::llround(samples / static_cast<double>(workers * batch)));
}

std::int64_t Convergence::share(std::int64_t workers) const {
  const std::int64_t share = problem->samples() / workers;
  if (share >= batch) return share;
  throw PlacedError(fmt::format(
      "/run/convergence/batch: {} samples per worker and step, but {} samples for {} workers are "
      "{} each",
      batch, problem->samples(), workers, share));
}

const Bindings<Convergence>& convergence_keys() {
  using C = Convergence;
  static const Bindings<C> keys{
      {&C::problem, "problem", "what is learnt"},
      {&C::epochs,
       "epochs",
       "passes over the training data; takes the place of \"steps\"",
       kRequired,
       {.low = 0, .high = 1e6, .low_is_allowed = false}},
      {&C::batch, "batch", "samples per worker and step", kRequired, between(1, 1e6)},
      {&C::learning_rate, "learning_rate", "of stochastic gradient descent", kRequired,
       between(0, 1e6)},
      {&C::momentum, "momentum", "of stochastic gradient descent", 0, between(0, 1)},
      {{.key = "scaling",
        .kind = Kind::kText,
        .help = "of the learning rate with the workers whose gradients one update averages",
        .need = Need::kDefault,
        .fallback = "linear",
        .words = {"none", "sqrt", "linear"}},
       [](const Config& config, C& convergence) {
         const auto scaling = config.get<std::string>("scaling");
         convergence.scaling = scaling == "none" ? 0 : scaling == "sqrt" ? 0.5 : 1;
       }},
      {&C::split, "data",
       "how samples are divided among workers: anew for every epoch, once, or by class", "shuffled",
       one_of("shuffled", "fixed", "by-label")},
      {&C::target, "target", "accuracy that time_to_target_s waits for", 0.9, between(0, 1)},
      {&C::evaluate, "evaluate_every", "steps of client 0 from test to test", 1, between(1, 1e9)},
      {&C::test_center, "evaluated",
       "whose parameters are tested: client 0's (001 Figures 6 to 8), or the servers'", "client",
       one_of("client", "center")},
      {&C::seeds, "seeds", "how often the run is repeated, with seed, seed + 1, ...", 1,
       between(1, 1000)}};
  return keys;
}

Batches::Batches(const Convergence& convergence, std::int64_t workers, std::int64_t seed)
    : split_(convergence.split),
      batch_(static_cast<std::size_t>(convergence.batch)),
      workers_(workers),
      seed_(seed) {
  const Problem& problem = *convergence.problem;
  const std::int64_t share = convergence.share(workers);
  steps_per_epoch_ = share / convergence.batch;
  std::vector<std::int32_t> all(static_cast<std::size_t>(problem.samples()));
  std::iota(all.begin(), all.end(), 0);
  if (split_ == DataSplit::kShuffled) {
    shares_.push_back(std::move(all));
  } else {
    shuffle(std::span(all), RandomStream(seed_, Purpose::kOrder), 0, 0);
    if (split_ == DataSplit::kByLabel) {
      std::stable_sort(all.begin(), all.end(), [&](std::int32_t x, std::int32_t y) {
        return problem.label(x) < problem.label(y);
      });
    }
    for (std::int64_t w = 0; w < workers; ++w)
      shares_.emplace_back(all.begin() + w * share, all.begin() + (w + 1) * share);
  }
  recent_.resize(shares_.size());
}

const std::vector<std::int32_t>& Batches::order(std::int64_t share, std::int64_t epoch) {
  auto& recent = recent_[static_cast<std::size_t>(share)];
  for (const Shuffled& each : recent) {
    if (each.epoch == epoch) return each.samples;
  }
  constexpr std::size_t kKept = 64;  // epochs; an older one is made again when it is asked for
  if (recent.size() == kKept) recent.erase(recent.begin());
  recent.push_back({epoch, shares_[static_cast<std::size_t>(share)]});
  shuffle(std::span(recent.back().samples), RandomStream(seed_, Purpose::kOrder),
          static_cast<std::uint32_t>(share + 1), static_cast<std::uint32_t>(epoch));
  return recent.back().samples;
}

std::span<const std::int32_t> Batches::batch(std::int64_t worker, std::int64_t step) {
  const std::int64_t epoch = step / steps_per_epoch_;
  const auto place = static_cast<std::size_t>(step % steps_per_epoch_);
  if (split_ != DataSplit::kShuffled) {
    return std::span(order(worker, epoch)).subspan(place * batch_, batch_);
  }
  const auto turn = place * static_cast<std::size_t>(workers_) + static_cast<std::size_t>(worker);
  return std::span(order(0, epoch)).subspan(turn * batch_, batch_);
}

}  // namespace steptime
