// A long training on nodes that fail, which goes on from its last checkpoint.
//
// Nodes fail independently of one another, at exponentially distributed intervals, and one of them
// stops all: n nodes fail every M = 1 day / (rate n) on average. After every `interval` of work a
// checkpoint is written. A failure loses what was done since the last one; the restart takes its
// time, and may fail, too. That is the model of J. T. Daly, "A higher order estimate of the optimum
// checkpoint interval for restart dumps", Future Generation Computer Systems 22, 2006. With T
// the time that the steps take, t the interval, c the checkpoint, R the restart, the expected time
// is
//
//   M e^(R/M) (e^((t + c)/M) - 1) T / t
//
// and the default of `interval` his estimate of the t that makes it least, for c < 2 M
//
//   sqrt(2 c M) (1 + sqrt(c / 2 M) / 3 + (c / 2 M) / 9) - c
//
// else M. Young's sqrt(2 c M) (CACM 17, 1974) is its first term.
//
// Failures of nodes that are known by name and moment come on top of these.
//
// Scope: checkpoints stop the training while they are written; a node that failed is there again
// after the restart; nothing slows down before it fails.
// Source of the default rate: Grattafiori et al., "The Llama 3 Herd of Models", 2024, table 5: 419
// unexpected interruptions in 54 days of 2,048 nodes with 8 H100.
#pragma once
#include "sim/config/binding.h"
#include "sim/core/percentiles.h"
#include "sim/core/units.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

/// What failures make of a training. Times in s.
struct FailureTimes {
  double interval = 0;      ///< work between two checkpoints, one step at least
  double mean = 0;          ///< the whole training, mean over the seeds
  Percentiles percentiles;  ///< the whole training, percentiles over the seeds
  double useful_share = 0;  ///< the share of the mean that the steps take by themselves
};

/// A node that fails at a known moment.
struct KnownFailure {
  std::int64_t node = 0;  ///< the first one is 0
  Duration after{};       ///< the start of the training
};

struct Failures {
  std::int64_t steps = 1;       ///< how many steps the training has
  double per_node_and_day = 0;  ///< by chance; 0: none
  std::vector<KnownFailure> known{};
  Duration checkpoint{};
  Duration restart{};
  std::optional<Duration> interval{};
  std::int64_t seeds = 1;

  double seconds_between(std::int64_t nodes) const;  ///< M; infinite without any by chance
  /// Daly's estimate [s]; `mtbf`: M.
  double best_interval(double mtbf) const;
  /// How long `work` takes with failures of one seed and a checkpoint after every `part`, all in s.
  /// Failures are at the same moments whatever is trained, so that what is compared meets the same
  /// ones.
  double play(double work, double part, double mtbf, std::int64_t seed) const;
  /// Of seeds `seed`, `seed` + 1, ... Throws PlacedError where the training would fail too often to
  /// be played.
  FailureTimes times(double step_s, std::int64_t nodes, std::int64_t seed) const;
};

const Bindings<Failures>& failure_keys();

}  // namespace steptime
