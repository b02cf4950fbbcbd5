// The parts of an experiment, as a config says them (read_experiment.h); simulate.h makes a result
// of them.
#pragma once
#include "sim/collective/collective.h"
#include "sim/experiment/failures.h"
#include "sim/experiment/kind_of_step.h"
#include "sim/layouts/plan.h"
#include "sim/learning/learning.h"
#include "sim/mxnet/embedding.h"
#include "sim/network/cluster.h"
#include "sim/network/slow_links.h"
#include "sim/servers/aggregation.h"
#include "sim/servers/transport.h"
#include "sim/step/schedule.h"
#include "sim/step/step.h"
#include "sim/workload/bucket_copies.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// A workload with its passes and gradient units, which only depend on it.
struct PreparedWorkload {
  explicit PreparedWorkload(Workload of)
      : workload(std::move(of)),
        passes(passes_of(workload)),
        by_tensor(workload.units(Granularity::kTensor)),
        by_layer(workload.units(Granularity::kLayer)) {
    if (auto copying = with_bucket_copies(workload); copying) {
      copying->trace.copies.reset();  // which it has in its layers
      in_buckets = std::make_shared<PreparedWorkload>(*std::move(copying));
    }
  }

  Workload workload;
  PassTimes passes;
  std::vector<GradientUnit> by_tensor;
  std::vector<GradientUnit> by_layer;
  /// Of a worker among others whose schedule copies gradients; null: nothing is known of copies.
  std::shared_ptr<const PreparedWorkload> in_buckets{};

  const std::vector<GradientUnit>& units(Granularity granularity) const {
    return granularity == Granularity::kTensor ? by_tensor : by_layer;
  }
};

enum class Fidelity {
  kAnalytic,  ///< a collective is one operation of cost a + b M
  kMessage,   ///< a collective is its messages, on the cluster's channels
};

struct RunSettings {
  std::optional<std::int64_t> steps{};  ///< where nothing is learnt; else the update's
  std::int64_t seed = 1;
  Fidelity fidelity = Fidelity::kAnalytic;
  Variation variation{};
  std::shared_ptr<const Convergence> convergence{};  ///< null: only time is simulated
  std::optional<Failures> failures{};                ///< what a training of such steps meets
  std::optional<SlowLinks> slow_links{};             ///< between nodes
};

class Execution;
struct CutModel;
struct JobSet;  // sim/experiment/jobs.h

/// The parts of an experiment. Parts are immutable, so that the points of a sweep share them.
struct Experiment {
  std::string name;
  std::string file;                                 ///< for messages
  std::shared_ptr<const PreparedWorkload> alone{};  ///< what a worker computes that is the only one
  std::shared_ptr<const KindOfStep> workload_kind;  ///< what it says of the step's kind
  std::shared_ptr<const NetworkKind> network;       ///< the cluster's
  std::shared_ptr<const std::string> network_name;
  std::shared_ptr<const Cluster> machines{};  ///< as the config's section says them
  std::shared_ptr<const Cluster> cluster;     ///< the same, with the library's connections
  std::shared_ptr<const Aggregation> aggregation;
  std::shared_ptr<const Update> update;
  std::shared_ptr<const Collective> collective;  ///< the aggregation's, inside a client
  std::shared_ptr<const Transport> transport;
  std::shared_ptr<const Schedule> schedule;
  KindWord schedule_word;                       ///< the kind's, of schedule and embedding
  std::shared_ptr<const Embedding> embedding;   ///< built with the schedule
  std::shared_ptr<const CutModel> cut_model{};  ///< what a layout cuts; null: there is none
  std::shared_ptr<const LayoutPlan> layout{};   ///< null: every GPU has a whole model
  /// What cluster, aggregation and transport say of the step's kind.
  std::shared_ptr<const KindOfStep> exchange_kind;
  std::shared_ptr<const RunSettings> run;
  std::shared_ptr<const JobSet> jobs{};  ///< this one and others on one network; null: it is alone
  // What follows from these parts, when all are there (runs/execution_of.h).
  /// What a worker computes that exchanges with others.
  std::shared_ptr<const PreparedWorkload> workload{};
  KindOfStep kind{};                     ///< what all of them say together
  const Execution* execution = nullptr;  ///< how its steps are run
};

}  // namespace steptime
