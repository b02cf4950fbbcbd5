// An embedding is how a framework's program carries the collectives inside it: which thread issues
// each of them and when, and what waits for it. Here that is a main-thread program over a
// dependency engine, implemented in schedulers/embedding_*.cpp, one file each.
//
// Several steps run back to back, so that the communication of one overlaps the forward pass of the
// next. The buckets of the schedule are the keys, so any schedule goes with any embedding.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/config.h"
#include "sim/config/registry.h"
#include "sim/core/limits.h"
#include "sim/events/timeline.h"
#include "sim/mxnet/communicators.h"
#include "sim/mxnet/embedded_step.h"
#include "sim/mxnet/rank_gpus.h"
#include "sim/mxnet/settings.h"
#include "sim/network/cluster.h"
#include "sim/runtime/world.h"
#include "sim/servers/aggregation.h"
#include "sim/step/step.h"
#include "sim/training/plan.h"
#include "sim/workload/variation.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

class Learner;
class MpiRank;

class Embedding {
 public:
  static constexpr const char* kNoun = "embedding";
  /// Without settings no framework is modelled: one communication thread takes what is ready
  /// (step.h).
  explicit Embedding(std::optional<MxnetSettings> settings) : settings_(settings) {}
  virtual ~Embedding() = default;
  /// Of one that has a main thread.
  const MxnetSettings& settings() const { return settings_.value(); }
  bool has_main_thread() const { return settings_.has_value(); }

  /// Throws InputError, through "strategy", for what it does not carry.
  virtual void check(const Config& strategy, const Aggregation& aggregation,
                     const Update& update) const;
  /// How one process that pushes for all GPUs of a node adds up; null: there is none.
  virtual const Merge* merge(const Aggregation& aggregation) const {
    return aggregation.merge.get();
  }
  /// What the main thread of a rank does with a batch, as the update needs it.
  using Trains = Task (Embedding::*)(MpiRank& worker) const;
  /// Forward and backward pass, and the update of all keys, by the sums of gradients where several
  /// ranks train the same parameters.
  Task descends(MpiRank& worker) const;
  /// Elastic averaging: in steps that exchange, it first sends parameters, which come back beside
  /// the step.
  Task averages_elastically(MpiRank& worker) const;
  /// Local SGD: in steps that exchange, it then sends parameters as it does gradients elsewhere.
  Task averages_at_end(MpiRank& worker) const;
  /// The main thread of one rank: batch after batch, and update_metric.
  Task main_thread(MpiRank& worker, Trains trains) const;
  /// Whether the main thread is inside an all-reduce while that goes on, so that there is never
  /// another one to choose from.
  virtual bool waits_in_calls() const { return false; }
  /// Key k uses communicator k modulo this.
  virtual std::int64_t communicators(std::int64_t /*keys*/) const { return 1; }

 private:
  /// Pushes, pulls and updates all keys of a step.
  virtual Task aggregate(MpiRank& worker) const;

  std::optional<MxnetSettings> settings_;
};
using Embeddings = Registry<Embedding>;

struct EmbeddedRun {
  std::int64_t workers = 1;
  const Update* update = nullptr;  ///< what ranks send and when; to be set before it is played
  Duration latency{};         ///< between two ranks; an MPI_Barrier takes log2(workers) of them
  std::int64_t steps = 1;     ///< to average over where what ranks take is another in each step
  std::int64_t learning = 0;  ///< steps from the first one on whose ends are asked for
  std::int64_t seed = 1;
  std::int64_t seeds = 1;  ///< such runs in all: too long ones are refused before the first
  Variation variation{};   ///< how the ranks' compute segments differ
  bool one_clock = false;  ///< no rank runs ahead (run_ahead.h): the slow path, and its oracle
  /// The messages of all-reduces that are in flight together meet on the links of this cluster.
  /// None: they share one link, and what the plan says is what each costs alone.
  using Played = Communicators::Played;
  std::optional<Played> played{};
  /// Who decides while steps run; none: ranks reduce key by key.
  Communicators::Decided decided{};
  /// The run whose servers the ranks meet at; null: they reduce among themselves.
  const TrainingPlan* served = nullptr;
  /// What all-reduces and compute segments cost each other, and kernels the links of that cluster.
  RankGpus::Costs overlap{};
  /// Runs in real time instead, as one of the ranks, that are alike; `steps` are averaged over.
  RealCollectives* real = nullptr;
  bool attributes = false;  ///< the step's causes are asked for
  /// The links that all-reduces travel on, as far as causes tell.
  Pairs links = Pairs::kBetweenNodes;
  Timeline* timeline = nullptr;
  OnProgress on_progress{};
};

/// Plays main_thread on every rank, or on one when all are alike. Throws ModelFailure when the
/// ranks deadlock.
EmbeddedStep embedded_step(const Embedding& embedding, const StepPlan& plan,
                           const Workload& workload, std::span<const GradientUnit> units,
                           Duration startup, const EmbeddedRun& run);

/// The same at the servers of clients that do not wait for each other: each one's steps are its
/// own, and what is told are means over clients, as the plan of `run.served` reports them.
/// `learner` and `causes` may be null.
TrainingTimes embedded_clients(const Embedding& embedding, const StepPlan& plan,
                               const Workload& workload, std::span<const GradientUnit> units,
                               Duration startup, const EmbeddedRun& run, Learner* learner,
                               Causes* causes);

FunnelBounds funnel_bounds(const StepPlan& plan, const MxnetSettings& settings);

}  // namespace steptime
