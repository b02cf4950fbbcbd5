// From a config to a result: a pure function of the config and the files that it names.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/config.h"
#include "sim/experiment/failures.h"
#include "sim/experiment/kind_of_step.h"
#include "sim/experiment/overrides.h"
#include "sim/layouts/plan.h"
#include "sim/learning/learning.h"
#include "sim/mxnet/embedding.h"
#include "sim/network/cluster.h"
#include "sim/network/slow_links.h"
#include "sim/servers/aggregation.h"
#include "sim/servers/transport.h"
#include "sim/step/schedule.h"
#include "sim/step/step.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steptime {

/// A workload with its passes and gradient units, which only depend on it.
struct PreparedWorkload {
  explicit PreparedWorkload(Workload of)
      : workload(std::move(of)),
        passes(passes_of(workload)),
        by_tensor(workload.units(Granularity::kTensor)),
        by_layer(workload.units(Granularity::kLayer)) {}

  Workload workload;
  PassTimes passes;
  std::vector<GradientUnit> by_tensor;
  std::vector<GradientUnit> by_layer;

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
  std::optional<Failures> failures{};                ///< of the training that the step is one of
  std::optional<SlowLinks> slow_links{};             ///< between nodes
};

/// The parts of an experiment. Parts are immutable, so that the points of a sweep share them.
struct Experiment {
  std::string name;
  std::string file;  ///< for messages
  std::shared_ptr<const PreparedWorkload> workload;
  std::shared_ptr<const KindOfStep> workload_kind;  ///< what it says of the step's kind
  std::shared_ptr<const NetworkKind> network;       ///< the cluster's
  std::shared_ptr<const std::string> network_name;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Aggregation> aggregation;
  std::shared_ptr<const Update> update;
  std::shared_ptr<const Collective> collective;  ///< the aggregation's, inside a client
  std::shared_ptr<const Transport> transport;
  std::shared_ptr<const Schedule> schedule;
  std::shared_ptr<const std::string> schedule_word;  ///< the kind's, of schedule and embedding
  std::shared_ptr<const Embedding> embedding;        ///< built with the schedule
  std::shared_ptr<const LayoutPlan> layout{};        ///< null: every GPU has a whole model
  /// What cluster, aggregation and transport say of the step's kind.
  std::shared_ptr<const KindOfStep> exchange_kind;
  std::shared_ptr<const RunSettings> run;
};

/// The sections of an experiment and the parts that are built from them. A part depends on the
/// sections that `sections` lists, and on nothing else.
enum class Part {
  kWorkload,
  kNetwork,
  kCluster,
  kTransport,
  kCollective,
  kSchedule,
  kLayout,
  kRun
};
/// In the order in which they are built.
inline constexpr Part kParts[] = {Part::kWorkload,  Part::kNetwork,    Part::kCluster,
                                  Part::kTransport, Part::kCollective, Part::kSchedule,
                                  Part::kLayout,    Part::kRun};
/// JSON pointers of the subtrees that a part is built from.
std::span<const std::string_view> sections(Part part);

/// The keys of an experiment, of its "strategy" and of its "run" section.
const Params& experiment_params();
const Params& strategy_params();
const Params& run_params();

/// Steps whose mean tells what a step takes, where the config does not say how many.
std::int64_t default_steps(const Update& update, const Schedule& schedule,
                           const Transport& transport);

/// The aggregation of an experiment, whose `config` it is: its collectives are those of the
/// transport's backend, or work through it. Throws InputError.
std::unique_ptr<Aggregation> read_aggregation(const Config& config, const Transport& transport,
                                              const Cluster& cluster);

/// A kvstore without servers, whose merge is played in an engine of one process
/// (sim/mxnet/module_step.h).
bool plays_merge(const Experiment& e);

/// Reads and checks an experiment. Throws InputError.
Experiment read_experiment(const std::shared_ptr<const Document>& document);
/// Throws InputError for parts that are right each but say nothing together.
void check_combination(const std::shared_ptr<const Document>& document,
                       const Experiment& experiment);
/// Builds one part anew; kCluster needs that of kNetwork, kCollective those of kCluster and
/// kTransport.
void read_part(const std::shared_ptr<const Document>& document, Part part, Experiment& experiment);

/// The experiment's name, which also names its output files. Throws InputError.
std::string read_name(const Config& config);

/// The config with every default written out.
Json resolved(const Json& config);

}  // namespace steptime
