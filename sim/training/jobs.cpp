#include "sim/training/jobs.h"

#include "sim/collective/message_time.h"
#include "sim/network/kernel_links.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/training/play.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

namespace steptime {
namespace {

/// The messages of a job's collectives, between its nodes of a network that is not its own.
class JobRoads final : public Roads {
 public:
  JobRoads(World& world, const TrainingPlan& plan)
      : Roads(world, plan),
        kernel_links_(*plan.shared->network, *plan.shared->machine,
                      plan.cluster.intra_node_beside_kernels) {
    if (plan.members() > 1)
      expect_messages(*plan.aggregation.inside, "/strategy/aggregation/collective: fidelity");
  }

  std::unique_ptr<Medium> medium(std::int32_t client, const Collective& collective) override {
    if (plan_.members() == 1 && !plan_.workers_meet()) return std::make_unique<NoMedium>(world_);
    std::vector<Endpoint> placement;
    for (std::int64_t m = 0; m < plan_.members(); ++m)
      placement.push_back(end_of(client * plan_.members() + m));
    return std::make_unique<MessageMedium>(world_, *plan_.shared->network, collective,
                                           plan_.cluster.reduction, std::move(placement));
  }

  void set_kernels(std::int64_t worker, bool run) override {
    kernel_links_.set(end_of(worker), run);
  }

 private:
  Endpoint end_of(std::int64_t worker) const {
    const std::int64_t gpus = plan_.cluster.gpus_per_node;
    const std::int64_t node = plan_.shared->nodes[static_cast<std::size_t>(worker / gpus)];
    return static_cast<Endpoint>(node * gpus + worker % gpus);
  }
  // Without servers nobody asks for these.
  Network& in_nodes() override { return *plan_.shared->network; }
  std::unique_ptr<PieceLine> line(PortEnds, const Pieces&, bool) override { return nullptr; }
  std::unique_ptr<Wire> bare_wire(PortEnds) override { return nullptr; }

  KernelLinks kernel_links_;
};

std::unique_ptr<Roads> job_roads(World& world, const TrainingPlan& plan) {
  return std::make_unique<JobRoads>(world, plan);
}

}  // namespace

std::vector<TrainingTimes> play_jobs(const Cluster& network, std::vector<SharedJob> jobs,
                                     const OnProgress& on_progress, Timeline* timeline,
                                     Causes* causes) {
  const Machine machine(network);
  World world(causes);
  Network& links = world.connect(machine, network.messages);
  std::deque<ReadyRun> runs;
  const auto any_trains = [&runs] {
    return std::ranges::any_of(runs, [](const ReadyRun& run) { return !run.has_reported(); });
  };
  std::deque<SharedNetwork> seen;
  for (SharedJob& job : jobs) {
    seen.push_back({&links, &machine, std::move(job.nodes), any_trains});
    job.plan.shared = &seen.back();
    job.plan.roads = job_roads;
    runs.emplace_back(world, job.plan, job.seed, nullptr, runs.empty() ? timeline : nullptr);
  }
  std::function<void()> report;
  if (on_progress) {
    report = [&] {
      double least = 1;
      for (const ReadyRun& run : runs)
        least = std::min(least, run.share());
      on_progress(least);
    };
  }
  world.run(report);
  std::vector<TrainingTimes> times;
  for (ReadyRun& run : runs) {
    run.expect_over();
    times.push_back(run.times(times.empty() ? causes : nullptr));
  }
  return times;
}

}  // namespace steptime
