#include "sim/mxnet/module_step.h"

#include "sim/collective/link_use.h"
#include "sim/core/error.h"
#include "sim/core/limits.h"
#include "sim/mxnet/apart_clients.h"
#include "sim/mxnet/mean_step.h"
#include "sim/mxnet/module_process.h"
#include "sim/mxnet/paced_step.h"
#include "sim/mxnet/updater.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/training/roads.h"
#include "sim/training/servers_of_hosts.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// An optimizer that takes no time at all is none: sums go back as they are, as where a kvstore has
/// no updater.
const Updater& updater_of(const ModuleRun& run) {
  const MxnetSettings settings = module_settings(run.embedding);
  return settings.gpu_operation + settings.update > Duration{} ? updater_of_process()
                                                               : no_updater();
}

/// How many steps are played is said; else a run goes on to its steady state.
bool are_given(const ModuleRun& run) {
  return run.variation.changes() || !run.update.has_met(run.update.period());
}

/// What the processes of a run have around them: the network that their copies go over, and who
/// makes weights of sums.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual Network& network() = 0;
  virtual const Updater& updater() const = 0;
  virtual std::vector<LinkUse> links(double seconds, double steps) const = 0;
  /// Null: there are none.
  virtual const Servers* servers() const { return nullptr; }
};

class OneNode final : public Surroundings {
 public:
  OneNode(World& world, const ModuleRun& run)
      : cluster_(run.cluster),
        has_hosts_(run.embedding.merge(run.aggregation)->place() == Merge::Place::kHost),
        machine_(run.embedding.merge(run.aggregation)->machine(run.cluster)),
        network_(world.connect(machine_, run.cluster.messages)),
        updater_(updater_of(run)) {}
  Network& network() override { return network_; }
  const Updater& updater() const override { return updater_; }
  std::vector<LinkUse> links(double seconds, double steps) const override {
    return link_uses(cluster_, machine_, network_, {seconds, steps, has_hosts_});
  }

 private:
  const Cluster& cluster_;
  bool has_hosts_;
  Machine machine_;
  Network& network_;
  const Updater& updater_;
};

class NodesAtServers final : public Surroundings {
 public:
  /// `store`: the weights on the servers; null: nothing is learnt there.
  NodesAtServers(World& world, const TrainingPlan& plan, Timeline* timeline, Store* store)
      : roads_(plan.roads(world, plan)),
        servers_(world, plan, *roads_, timeline, plan.names),
        updater_(servers_.servers(), plan.names.size()) {
    servers_.servers().set_store(store);
  }
  Network& network() override { return roads_->in_nodes(); }
  const Updater& updater() const override { return updater_; }
  std::vector<LinkUse> links(double seconds, double steps) const override {
    return roads_->links(seconds, steps);
  }
  const Servers* servers() const override { return &servers_.servers(); }

 private:
  std::unique_ptr<Roads> roads_;
  ServersOfHosts servers_;
  UpdaterAtServers updater_;
};

/// All processes of a run, on its world.
class Nodes {
 public:
  /// `steps`: of the nodes; null: as many as tell what a step takes.
  Nodes(World& world, const TrainingGraph& graph, const ModuleRun& run, Duration input,
        ClientSteps* steps = nullptr);
  void play();
  /// `causes`: what the world keeps; null: none.
  EmbeddedStep result(const StepPlan& plan, const Causes* causes) const;
  TrainingTimes times(ApartClients& apart, const Causes* causes) const;

 private:
  Duration computed(std::int64_t gpu, std::int64_t step) const;
  Duration compute_of_slowest() const;

  World& world_;
  const TrainingGraph& graph_;
  const ModuleRun& run_;
  InputPipeline input_;
  RankRecord record_;
  std::unique_ptr<Surroundings> around_;
  std::deque<ModuleProcess> nodes_;
};

Nodes::Nodes(World& world, const TrainingGraph& graph, const ModuleRun& run, Duration input,
             ClientSteps* steps)
    : world_(world),
      graph_(graph),
      run_(run),
      input_(input),
      record_(world.engine, graph, are_given(run) ? std::optional(run.steps) : std::nullopt,
              steps == nullptr ? &input_ : nullptr, run.update.period()) {
  ClientSteps& played = steps != nullptr ? *steps : record_;
  if (run.served == nullptr)
    around_ = std::make_unique<OneNode>(world, run);
  else
    around_ = std::make_unique<NodesAtServers>(world, *run.served, run.timeline, played.store());
  const ModuleProcess::Shared shared{world,  graph,   run,   around_->network(), around_->updater(),
                                     input_, record_, played};
  for (std::int64_t node = 0; node < run.cluster.nodes; ++node)
    nodes_.emplace_back(shared, node);
}

void Nodes::play() {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const std::int64_t number = nodes_.size() > 1 ? static_cast<std::int64_t>(node) : -1;
    world_.start({"main thread", number}, nodes_[node].main_thread());
  }
  world_.run();
  world_.expect_over();
  for (const ModuleProcess& node : nodes_)
    STEPTIME_CHECK(node.pending() == 0, "an operation of kvstore never ends");
}

EmbeddedStep Nodes::result(const StepPlan& plan, const Causes* causes) const {
  const Attribution a = record_.attribution();
  const Duration compute =
      run_.variation.any() ? compute_of_slowest() : plan.forward + plan.backward;
  EmbeddedStep step = recorded_step(
      plan, record_, compute, a.hidden_under_backward + a.hidden_under_forward + a.exposed, causes);
  Time end{};
  for (const ModuleProcess& node : nodes_)
    end = std::max(end, node.end());
  const auto steps = static_cast<double>(nodes_.front().steps());
  step.links = around_->links(to_seconds(since_start(end)), steps);
  if (const Servers* const servers = around_->servers())
    step.messages = static_cast<double>(servers->messages()) / steps;
  return step;
}

/// Of the steps that are reported. The GPUs of a node wait for each other in every step.
TrainingTimes Nodes::times(ApartClients& apart, const Causes* causes) const {
  const std::int64_t gpus = run_.cluster.gpus_per_node;
  const auto by_node = [&](std::int64_t node, std::int64_t step) {
    Duration longest{};
    for (std::int64_t gpu = node * gpus; gpu < (node + 1) * gpus; ++gpu)
      longest = std::max(longest, computed(gpu, step));
    return longest;
  };
  TrainingTimes times = apart.times(*around_->servers(), record_, by_node, causes);
  times.links = around_->links(times.end_s, static_cast<double>(apart.played()));
  return times;
}

Duration Nodes::computed(std::int64_t gpu, std::int64_t step) const {
  const double factor = run_.variation.factor(run_.seed, gpu, step);
  Duration sum{};
  for (const ComputeSegment& segment : graph_.segments)
    sum += scaled(segment.duration, factor);
  return sum;
}

/// Of a mean step: GPUs wait for each other at the end of a period.
Duration Nodes::compute_of_slowest() const {
  const MeetingSteps steps{record_.measured_from(), record_.measured_to(), run_.update.period()};
  const auto of = [this](std::int64_t gpu, std::int64_t step) { return computed(gpu, step); };
  return computed_by_slowest(steps, run_.cluster.workers(), of) / (steps.last - steps.first);
}

/// Operations of a step, as MXNet has them for `device`; trees in slices take more.
void check_size(const TrainingGraph& graph, Duration input, const ModuleRun& run) {
  const auto gpus = static_cast<double>(run.cluster.workers());
  const double operations = gpus * (static_cast<double>(graph.segments.size()) +
                                    4 * static_cast<double>(graph.keys.size()));
  const auto period = static_cast<double>(run.update.period());
  const double steps =
      (are_given(run) ? static_cast<double>(run.steps) + 8 * period : 72 * period) +
      static_cast<double>(run.learning);
  if (!(to_seconds(input) * steps <= kLongestSeconds)) {
    throw PlacedError(
        fmt::format("/workload/input: the samples of {} steps take {} s each, more than the {} s "
                    "that can be simulated",
                    steps, to_seconds(input), kLongestSeconds));
  }
  if (run.timeline != nullptr) check_bars(operations * steps);
  const double played = operations * steps * static_cast<double>(run.seeds);
  if (run.served == nullptr)
    return check_events(8 * played, "/run/steps", "events", "fewer steps are fewer");
  // What many nodes have under way does not stay in the cache: some 2 us for each operation.
  check_events(16 * played, "/cluster/nodes", "events",
               "fewer nodes have fewer, and so has an embedding {\"type\": \"async\"}");
}

}  // namespace

EmbeddedStep module_step(const StepPlan& plan, const Workload& workload,
                         std::span<const GradientUnit> units, const ModuleRun& run) {
  const TrainingGraph graph =
      training_graph(plan, workload, units, {}, module_settings(run.embedding).bulk);
  check_size(graph, plan.input, run);
  const auto play = [&](const StepPlan& of, bool draws) {
    ModuleRun played = run;
    if (!draws) played.timeline = nullptr;
    Causes kept;
    Causes* const causes = run.attributes ? &kept : nullptr;
    World world(causes);
    Nodes nodes(world, graph, played, of.input);
    nodes.play();
    return nodes.result(of, causes);
  };
  const auto ends_of = [&](std::int64_t steps) {
    ModuleRun alone = run;
    alone.timeline = nullptr;
    alone.on_progress = {};
    World world;
    FirstSteps first(world.engine, steps);
    Nodes(world, graph, alone, plan.input, &first).play();
    return first.ends();
  };
  const bool draws = run.timeline != nullptr;
  EmbeddedStep step = run.variation.changes() ? play(plan, draws) : paced_step(plan, draws, play);
  const std::int64_t period = run.update.period();
  step.cold = ends_of(period).back() / period;
  if (run.learning > 0) step.ends = ends_of(run.learning);
  return step;
}

TrainingTimes module_nodes(const StepPlan& plan, const Workload& workload,
                           std::span<const GradientUnit> units, const ModuleRun& run,
                           const TrainingPlan& nodes, Learner* learner, Causes* causes) {
  const TrainingGraph graph =
      training_graph(plan, workload, units, {}, module_settings(run.embedding).bulk);
  check_size(graph, plan.input, run);
  World world(causes);
  ApartClients apart(nodes, world.engine, static_cast<std::int32_t>(run.cluster.nodes), learner);
  Nodes played(world, graph, run, plan.input, &apart);
  played.play();
  return played.times(apart, causes);
}

}  // namespace steptime
