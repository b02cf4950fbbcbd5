// The training runs of an experiment: one per seed, and what they say together.
#pragma once
#include "sim/config/json.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/played_cluster.h"
#include "sim/training/plan.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace steptime {

class Learner;

struct TrainingOutcome {
  std::vector<std::int64_t> seeds;
  std::vector<TrainingTimes> runs;  ///< one per seed
  bool learns = false;
  double target = 0;          ///< accuracy, where it learns
  std::int64_t servers = 0;   ///< how many, beyond the nodes if there are such
  double fullest_server = 1;  ///< what the fullest of them holds over an even share

  bool has_servers() const { return servers > 0; }
  /// Median over the seeds; none when half of them or more did not reach the target.
  std::optional<double> time_to_target() const;
  std::optional<double> epochs_to_target() const;
  /// Fastest and slowest seed; none when one did not reach the target.
  std::optional<double> fastest_to_target() const;
  std::optional<double> slowest_to_target() const;
  std::optional<double> final_accuracy() const;  ///< mean over the seeds
  double mean_staleness() const;
  /// Of the seeds that came to no steady state the most; 0: all did, or were not to.
  std::int64_t unsettled_steps() const;
  /// Mean over the seeds, the longest first.
  std::vector<Cause> attribution() const;

  /// Staleness histogram and curves.
  Json json() const;
};

/// How often the experiment is run, each time with another seed.
std::int64_t seeds_of(const Experiment& experiment);
/// Tells the share of all runs, of which so many are over, from that of one.
OnProgress share_of(const OnProgress& on_progress, std::int64_t over, std::int64_t runs);
/// Steps whose mean tells what a step takes, where the config does not say how many.
std::int64_t default_steps(const Update& update, const Schedule& schedule,
                           const Transport& transport);

struct PlannedStep {
  const std::vector<GradientUnit>& units;  ///< the experiment owns them
  StepPlan plan;
  PlayedMachines machines;
};
/// A step's passes, its buckets with closed forms as their costs, its input, and what plays it.
PlannedStep closed_plan(const Experiment& experiment);

/// Whether messages inside nodes travel beside kernels that slow their links down.
bool kernels_slow_links(const Experiment& experiment);

/// What slows all-reduces of these buckets and the passes beside them down, but for links that know
/// it themselves; null: nothing.
std::function<Slowdown(Bytes)> slowdown_of(const Experiment& experiment,
                                           std::span<const Bucket> buckets);

/// Throws InputError.
TrainingPlan plan_training(const Experiment& experiment);
/// Plays the plan with a seed; all pointers may be null.
using PlaysTraining = std::function<TrainingTimes(const TrainingPlan& plan, std::int64_t seed,
                                                  Learner* learner, Timeline* timeline, Causes*)>;
/// `timeline` may be null; it shows the run of the first seed. `attributes`: the runs' times, too.
/// `plays`: none: the workers' programs are played.
TrainingOutcome run_training(const Experiment& experiment, TrainingPlan plan,
                             Timeline* timeline = nullptr, bool attributes = false,
                             const PlaysTraining& plays = {});

}  // namespace steptime
