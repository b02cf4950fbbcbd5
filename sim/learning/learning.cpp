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

const Params& convergence_params() {
  static const Params params{
      {.key = "problem", .kind = Kind::kObject, .help = "what is learnt", .choice = Problem::kNoun},
      {.key = "epochs",
       .kind = Kind::kNumber,
       .help = "passes over the training data; takes the place of \"steps\"",
       .range = {.low = 0, .high = 1e6, .low_is_allowed = false}},
      {.key = "batch",
       .kind = Kind::kInteger,
       .help = "samples per worker and step",
       .range = {.low = 1, .high = 1e6}},
      {.key = "learning_rate", .kind = Kind::kNumber, .range = {.low = 0, .high = 1e6}},
      {.key = "momentum",
       .kind = Kind::kNumber,
       .need = Need::kDefault,
       .fallback = 0,
       .range = {.low = 0, .high = 1}},
      {.key = "scaling",
       .kind = Kind::kText,
       .help = "of the learning rate with the workers whose gradients one update averages",
       .need = Need::kDefault,
       .fallback = "linear",
       .words = {"none", "sqrt", "linear"}},
      {.key = "data",
       .kind = Kind::kText,
       .help = "how samples are divided among workers: anew for every epoch, once, or by class",
       .need = Need::kDefault,
       .fallback = "shuffled",
       .words = {"shuffled", "fixed", "by-label"}},
      {.key = "target",
       .kind = Kind::kNumber,
       .help = "accuracy that time_to_target_s waits for",
       .need = Need::kDefault,
       .fallback = 0.9,
       .range = {.low = 0, .high = 1}},
      {.key = "evaluate_every",
       .kind = Kind::kInteger,
       .help = "steps of client 0 from test to test",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 1e9}},
      {.key = "evaluated",
       .kind = Kind::kText,
       .help = "whose parameters are tested: client 0's (001 Figures 6 to 8), or the servers'",
       .need = Need::kDefault,
       .fallback = "client",
       .words = {"client", "center"}},
      {.key = "seeds",
       .kind = Kind::kInteger,
       .help = "how often the run is repeated, with seed, seed + 1, ...",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 1000}}};
  return params;
}

Convergence read_convergence(const Config& config) {
  const auto scaling = config.get<std::string>("scaling");
  const auto data = config.get<std::string>("data");
  return {.problem = Problems::instance().make(config, "problem"),
          .epochs = config.get<double>("epochs"),
          .batch = config.get<std::int64_t>("batch"),
          .learning_rate = config.get<double>("learning_rate"),
          .momentum = config.get<double>("momentum"),
          .scaling = scaling == "none"   ? 0
                     : scaling == "sqrt" ? 0.5
                                         : 1,
          .split = data == "shuffled" ? DataSplit::kShuffled
                   : data == "fixed"  ? DataSplit::kFixed
                                      : DataSplit::kByLabel,
          .target = config.get<double>("target"),
          .evaluate = config.get<std::int64_t>("evaluate_every"),
          .test_center = config.get<std::string>("evaluated") == "center",
          .seeds = config.get<std::int64_t>("seeds")};
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
