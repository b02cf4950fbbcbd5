// A small training run whose parts can be worked out by head.
#pragma once
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/training_run.h"
#include "sim/training/learner.h"
#include "sim/training/play.h"
#include "tests/support/config_text.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// A step of 3 s on two layers with 1,000,000 parameters each, 8 MB together.
inline std::shared_ptr<const PreparedWorkload> two_layers() {
  Trace trace{.model = "two", .device = "none", .batch = 1};
  for (const char* name : {"one", "two"}) {
    trace.layers.push_back({.name = name,
                            .forward = std::chrono::milliseconds(500),
                            .backward = std::chrono::milliseconds(1000),
                            .tensors = {{name, 1000000}}});
  }
  return std::make_shared<PreparedWorkload>(Workload{.trace = std::move(trace)});
}

/// `workers` nodes with one GPU, on a network of 1 ms and `bandwidth` [B/s]; a strategy and a run
/// as in a config.
inline Experiment training_experiment(const std::string& strategy, std::int64_t workers,
                                      const std::string& run = "{}", double bandwidth = 1e9) {
  Experiment e{.name = "test", .workload = two_layers()};
  const Link link{std::chrono::milliseconds(1), {bandwidth}};
  e.machines = std::make_shared<Cluster>(
      Cluster{.nodes = workers, .gpus_per_node = 1, .network = link, .intra_node = link});
  const auto document = std::make_shared<Document>(
      Document{"x.json", Json{{"name", "test"},
                              {"workload", Json::object()},
                              {"cluster", Json::object()},
                              {"strategy", parse_json(strategy, "x.json")},
                              {"run", parse_json(run, "x.json")}}});
  for (const Part part : {Part::kTransport, Part::kCollective, Part::kSchedule, Part::kRun})
    read_part(document, part, e);
  e.execution = &execution_of(e);
  return e;
}

inline std::string strategy(const std::string& aggregation, const std::string& update,
                            const std::string& schedule = "sync-easgd") {
  return R"({"aggregation": )" + aggregation + R"(, "update": )" + update +
         R"(, "schedule": {"type": ")" + schedule + R"("}})";
}

inline std::string servers(int count, const std::string& more = "") {
  return R"({"type": "parameter-server", "servers": )" + std::to_string(count) +
         R"(, "requests": "pushpull")" + more + "}";
}

inline const std::string kRing = R"({"type": "all-reduce", "collective": {"type": "ring"}})";
inline const std::string kSgd = R"({"type": "sgd"})";
inline const std::string kAsgd = R"({"type": "asgd"})";

/// Of a run whose steps are all reported, from the first on.
inline TrainingPlan plan_of_all_steps(const Experiment& e) {
  TrainingPlan plan = plan_training(e);
  plan.reported = TrainingPlan::Reported::kAll;
  return plan;
}

/// An experiment that learns, played once; the learner keeps the values at the end.
struct Played {
  Played(const Experiment& e, const Convergence& convergence)
      : settings(std::make_shared<Convergence>(convergence)),
        plan([&] {
          Experiment learning = e;
          auto run = std::make_shared<RunSettings>(*e.run);
          run->convergence = settings;
          learning.run = run;
          return plan_training(learning);
        }()),
        learner(*settings, *plan.update, plan.trainers(), plan.cluster.workers() / plan.trainers(),
                plan.aggregation.servers.count > 0, 1, plan.pushing()),
        times(play_programs(plan, 1, &learner)) {}

  std::vector<double> client(std::int64_t c) const {
    return {learner.client(c).begin(), learner.client(c).end()};
  }
  std::vector<double> center() const { return {learner.center().begin(), learner.center().end()}; }

  std::shared_ptr<const Convergence> settings;
  TrainingPlan plan;
  Learner learner;
  TrainingTimes times;
};

}  // namespace steptime
