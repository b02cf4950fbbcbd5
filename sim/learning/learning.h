// A real model trained in the simulated order of events: what is learnt, and from which data.
#pragma once
#include "sim/config/binding.h"
#include "sim/config/registry.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

struct Score {
  double accuracy = 0;  ///< on data that was not trained on
  double loss = 0;
};

struct CurvePoint {
  double time_s = 0;
  double epoch = 0;  ///< samples that all clients have computed, over the training samples
  Score score;
};

/// A learning problem: implemented in models/learning/. Sums run in a fixed order, so that equal
/// inputs give equal bits.
class Problem {
 public:
  static constexpr const char* kNoun = "problem";
  virtual ~Problem() = default;
  virtual std::size_t parameters() const = 0;
  /// The number of training samples, and the class of each.
  virtual std::int64_t samples() const = 0;
  virtual std::int32_t label(std::int32_t sample) const = 0;
  virtual std::vector<double> initial(std::int64_t seed) const = 0;
  /// Sets `gradient` to the mean over `samples` of the loss's gradient at `w`.
  virtual void gradient(std::span<const double> w, std::span<const std::int32_t> samples,
                        std::span<double> gradient) const = 0;
  virtual Score test(std::span<const double> w) const = 0;
};
using Problems = Registry<Problem>;

/// How training data is divided among workers.
enum class DataSplit {
  kShuffled,  ///< anew for every epoch
  kFixed,     ///< once; a worker reorders its own share for every epoch
  kByLabel,   ///< as kFixed, but samples are sorted by class before they are divided
};

/// The "convergence" part of a run.
struct Convergence {
  std::shared_ptr<const Problem> problem;
  double epochs = 1;
  std::int64_t batch = 1;  ///< samples per worker and step
  double learning_rate = 0.1;
  double momentum = 0;
  double scaling = 1;  ///< rate = learning_rate * (workers of a mini-batch)^scaling
  DataSplit split = DataSplit::kShuffled;
  double target = 0.9;        ///< accuracy
  std::int64_t evaluate = 1;  ///< steps from one test to the next
  bool test_center = false;   ///< the servers' parameters; else those of client 0
  std::int64_t seeds = 1;     ///< repetitions: run.seed, run.seed + 1, ...

  /// Steps of each of `workers` workers.
  std::int64_t steps(std::int64_t workers) const;
  /// Of each of `workers` workers, in samples. Throws PlacedError when it is smaller than a batch.
  std::int64_t share(std::int64_t workers) const;
};

const Bindings<Convergence>& convergence_keys();

/// Which samples a worker takes in a step.
class Batches {
 public:
  /// Throws InputError when a worker's share is smaller than a batch.
  Batches(const Convergence& convergence, std::int64_t workers, std::int64_t seed);
  /// Valid until the next call.
  std::span<const std::int32_t> batch(std::int64_t worker, std::int64_t step);

 private:
  const std::vector<std::int32_t>& order(std::int64_t share, std::int64_t epoch);

  DataSplit split_;
  std::size_t batch_;
  std::int64_t workers_;
  std::int64_t seed_;
  std::int64_t steps_per_epoch_;
  std::vector<std::vector<std::int32_t>> shares_;  ///< one for all workers, or one each
  struct Shuffled {
    std::int64_t epoch = -1;
    std::vector<std::int32_t> samples;
  };
  std::vector<std::vector<Shuffled>> recent_;  ///< per share: workers drift apart by epochs
};

}  // namespace steptime
