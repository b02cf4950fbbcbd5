// Do clients that do not wait for each other go on in engines as workers do?
#include "sim/mxnet/apart_clients.h"

#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::vector<std::string> kEngines{"naive", "funnel", "concum", "depcha"};
const std::string kEsgd = R"({"type": "esgd", "interval": 2})";
const std::string kHybrid =
    R"({"type": "hybrid", "clients": 2, "servers": 1, "requests": "pushpull"})";

/// The strategy, with host costs of none, in an engine; "": of workers.
std::string in_engine(const std::string& strategy, const std::string& type) {
  Json json = parse_json(strategy, "x.json");
  if (!type.empty()) {
    json["embedding"] = {{"type", type},          {"python_call", "0 s"},
                         {"engine_push", "0 s"},  {"wake_up", "0 s"},
                         {"copy_latency", "0 s"}, {"copy_bandwidth", "1e9 TB/s"}};
  }
  return json.dump();
}

// One message of 8 MB goes to the server and comes back in 2 x (1 + 8) ms, alone: of two workers,
// of which one has half the speed, a step takes 3 s or 6 s, and that.
TEST(ApartClients, EachHasStepsOfItsOwn) {
  const std::string run = R"({"steps": 4, "variation": {"gpus": [{"node": 1, "speed": 0.5}]}})";
  const std::string asgd = strategy(servers(1), kAsgd);
  const Result workers = simulate(training_experiment(asgd, 2, run));
  for (const std::string& type : kEngines) {
    const Result r = simulate(training_experiment(in_engine(asgd, type), 2, run));
    EXPECT_NEAR(r.step_time_s, (3 + 6) / 2.0 + 0.018, 1e-9) << type;
    EXPECT_NEAR(*r.cold_step_time_s, (3 + 6) / 2.0 + 0.018, 1e-9) << type;
    EXPECT_NEAR(r.compute_time_s, (3 + 6) / 2.0, 1e-9) << type;
    EXPECT_NEAR(r.throughput_samples_per_s, 1 / 3.018 + 1 / 6.018, 1e-9) << type;
    EXPECT_EQ(r.messages, workers.messages) << type;
    ASSERT_TRUE(r.training) << type;
    EXPECT_EQ(r.training->runs[0].staleness, workers.training->runs[0].staleness) << type;
    EXPECT_GT(r.training->mean_staleness(), 0) << type;
  }
}

/// Nodes whose processes go through a kvstore, with host costs of none; "": its workers do.
std::string at_servers(const std::string& type, const std::string& merge = "local") {
  Json json = parse_json(
      strategy(R"({"type": "kvstore", "servers": 1, "merge": ")" + merge + "\"}", kAsgd, "wfbp"),
      "x.json");
  if (!type.empty()) {
    json["embedding"] = {{"type", type},          {"python_call", "0 s"},   {"engine_push", "0 s"},
                         {"wake_up", "0 s"},      {"gpu_operation", "0 s"}, {"bulk", 2},
                         {"key_order", "forward"}};
  }
  return json.dump();
}

// The first layer's key goes last: 4 MB to the host and to the server, 1 + 4 ms each, an answer, a
// request, and back. Of two nodes, of which one has half the speed, a step takes 3 s or 6 s, and
// that. Workers also have a push and a pull with their node for each key.
TEST(ApartClients, NodesOfAKvstoreHaveStepsOfTheirOwn) {
  const std::string run = R"({"steps": 4, "variation": {"gpus": [{"node": 1, "speed": 0.5}]}})";
  const Result workers = simulate(training_experiment(at_servers(""), 2, run));
  const Result r = simulate(training_experiment(at_servers("module"), 2, run));
  const double step = (3 + 6) / 2.0 + 4 * 0.005 + 2 * 0.001;
  EXPECT_NEAR(r.step_time_s, step, 1e-9);
  EXPECT_NEAR(*r.cold_step_time_s, step, 1e-9);
  EXPECT_NEAR(r.compute_time_s, (3 + 6) / 2.0, 1e-9);
  EXPECT_NEAR(workers.step_time_s, step, 1e-9);
  EXPECT_NEAR(r.throughput_samples_per_s, 1 / 3.022 + 1 / 6.022, 1e-9);
  EXPECT_EQ(r.messages, 2 * 2 * 2);
  EXPECT_EQ(workers.messages, 2 * 2 * 2 * 2);
  EXPECT_EQ(r.training->runs[0].staleness, workers.training->runs[0].staleness);
}

// At 2 MB/s an exchange takes 2 x (0.001 + 4) s, beside the 3 s of every second step; Funnel's main
// thread pushes the step behind it.
TEST(ApartClients, ElasticAveragesComeBackBesideTheStep) {
  for (const std::string& type : kEngines) {
    const Result r = simulate(training_experiment(in_engine(strategy(servers(1), kEsgd), type), 1,
                                                  R"({"steps": 4})", 2e6));
    const double behind = type == "funnel" ? 3 : 0;
    EXPECT_NEAR(r.step_time_s, (8.002 + behind + 3) / 2, 1e-9) << type;
    EXPECT_NEAR(*r.cold_step_time_s, (8.002 + behind + 3) / 2, 1e-9) << type;
    const Result fast = simulate(
        training_experiment(in_engine(strategy(servers(1), kEsgd), type), 1, R"({"steps": 4})"));
    EXPECT_NEAR(fast.step_time_s, behind > 0 ? (3.018 + 3) / 2 : 3, 1e-9) << type;
  }
}

// Inside a client of two workers a ring of 8 MB takes 2 ms + 8 ms in every step.
TEST(ApartClients, ClientsSumGradientsInEveryStep) {
  const Result r = simulate(training_experiment(in_engine(strategy(kHybrid, kEsgd), "depcha"), 4));
  EXPECT_NEAR(r.step_time_s, 3.010, 1e-9);
}

// The next step waits for its own samples, 5 s after those before: 2 s less 18 ms of waiting.
TEST(ApartClients, WaitForSamples) {
  Experiment e = training_experiment(in_engine(strategy(servers(1), kAsgd), "naive"), 1);
  Workload workload = e.workload->workload;
  workload.input_rate = 0.2;
  e.workload = std::make_shared<PreparedWorkload>(std::move(workload));
  const Result r = simulate(e);
  EXPECT_NEAR(r.step_time_s, 5, 1e-9);
  EXPECT_NEAR(*r.exposed_input_s, 2 - 0.018, 1e-9);
}

// What a server does with a push, and when, and what a client does with a pull: of workers at
// speeds of their own the same values, test by test.
TEST(ApartClients, LearnWhatWorkersLearn) {
  const std::string run = R"({"variation": {"gpus": [{"node": 0, "speed": 0.37}]},
      "convergence": {"problem": {"type": "quadratic", "samples": 64, "noise": 0.5},
                      "epochs": 6, "batch": 4, "learning_rate": 0.02, "momentum": 0.5}})";
  const std::string elastic = R"({"type": "esgd", "interval": 3, "alpha": 0.4})";
  for (const std::string& aggregation : {servers(2), kHybrid}) {
    for (const std::string& update : {kAsgd, elastic}) {
      const std::string both = strategy(aggregation, update);
      const Result workers = simulate(training_experiment(both, 4, run));
      for (const std::string& type : kEngines) {
        if (type == "funnel" && update == elastic) continue;  // the step is behind the exchange
        const Result r = simulate(training_experiment(in_engine(both, type), 4, run));
        const auto& curve = r.training->runs[0].curve;
        const auto& expected = workers.training->runs[0].curve;
        ASSERT_EQ(curve.size(), expected.size()) << type;
        for (std::size_t i = 0; i < curve.size(); ++i) {
          EXPECT_EQ(curve[i].score.loss, expected[i].score.loss) << type << aggregation << update;
          if (type == "concum" && aggregation == kHybrid) continue;  // barriers take time
          EXPECT_NEAR(curve[i].time_s, expected[i].time_s, 1e-9) << type;
        }
      }
    }
  }
}

// The nodes of a kvstore, too: by its processes what their workers learn.
TEST(ApartClients, NodesOfAKvstoreLearnWhatTheirWorkersLearn) {
  const std::string run = R"({"variation": {"gpus": [{"node": 0, "speed": 0.37}]},
      "convergence": {"problem": {"type": "quadratic", "samples": 64, "noise": 0.5},
                      "epochs": 6, "batch": 4, "learning_rate": 0.02, "momentum": 0.5}})";
  const Result workers = simulate(training_experiment(at_servers(""), 4, run));
  const Result r = simulate(training_experiment(at_servers("module"), 4, run));
  const auto& curve = r.training->runs[0].curve;
  const auto& expected = workers.training->runs[0].curve;
  ASSERT_EQ(curve.size(), expected.size());
  for (std::size_t i = 0; i < curve.size(); ++i)
    EXPECT_EQ(curve[i].score.loss, expected[i].score.loss) << i;
}

// Samples come 5 s after those before, which an exchange of 22 ms leaves time for.
TEST(ApartClients, NodesOfAKvstoreWaitForSamples) {
  Experiment e = training_experiment(at_servers("module"), 1);
  Workload workload = e.workload->workload;
  workload.input_rate = 0.2;
  e.workload = std::make_shared<PreparedWorkload>(std::move(workload));
  const Result r = simulate(e);
  EXPECT_NEAR(r.step_time_s, 5, 1e-9);
  EXPECT_NEAR(*r.exposed_input_s, 2 - 0.022, 1e-9);
}

}  // namespace
}  // namespace steptime
