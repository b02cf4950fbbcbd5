#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string local_sgd(int interval) {
  return fmt::format(R"({{"type": "local-sgd", "interval": {}}})", interval);
}
const char* const kHybrid =
    R"({"type": "hybrid", "clients": 2, "servers": 1, "requests": "pushpull"})";

TEST(LocalSgd, SendsParametersAtTheEndOfEveryIntervalThStep) {
  const auto update = make<Update>(local_sgd(3));
  EXPECT_TRUE(update->sends_parameters());
  EXPECT_TRUE(update->waits_for_all());
  EXPECT_FALSE(update->ends_together());
  EXPECT_FALSE(update->exchanges(0));
  EXPECT_FALSE(update->exchanges(1));
  EXPECT_TRUE(update->exchanges(2));
  EXPECT_TRUE(update->exchanges(5));
  EXPECT_EQ(update->default_steps(), 3);
}

TEST(LocalSgd, TheCentreIsTheMean) {
  std::vector<double> w{100};
  std::vector<double> v{7};
  make<Update>(local_sgd(1))->on_server({w, v}, {std::vector<double>{12}, 4}, {.rate = 1});
  EXPECT_EQ(w[0], 3);
  EXPECT_EQ(v[0], 7);
}

TEST(LocalSgd, MeetsAnywhereButInTheNextStep) {
  const auto update = make<Update>(local_sgd(2));
  EXPECT_EQ(update->refusal({.holds_center = false}), "");
  EXPECT_EQ(update->refusal({.adds_up_in_nodes = true}), "");
  EXPECT_EQ(update->refusal({.pulls_in_next_step = true}),
            "local-sgd pulls in the step that pushes; choose other requests than \"next-step\"");
}

// Two tensors of 4 MB; a ring of 4 takes 6 x 1 ms + 2 x 3/4 x 4 MB / 1 GB/s = 12 ms for each. Three
// steps of 3 s, then both, with nothing to overlap: (9 + 0.024) / 3.
TEST(LocalSgd, WorkersAllReduceTheirParametersInTheLastOfTheirSteps) {
  for (const char* run : {"{}", R"({"fidelity": "message"})"}) {
    std::vector<SentBucket> sent;
    const Result r =
        simulate(training_experiment(strategy(kRing, local_sgd(3), "wfbp"), 4, run), &sent);
    EXPECT_NEAR(r.step_time_s, 3.008, 1e-9) << run;
    EXPECT_NEAR(r.comm_busy_s, 0.008, 1e-9) << run;
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_NEAR(sent[0].ready_s, 3, 1e-9);
    EXPECT_NEAR(sent[0].end_s, 3.012, 1e-9);
    EXPECT_NEAR(sent[1].start_s, 3.012, 1e-9);
    EXPECT_NEAR(sent[1].end_s, 3.024, 1e-9);
  }
}

// Parameters exist when gradients would have been sent as one: nothing tells the times apart.
TEST(LocalSgd, IntervalOneTakesTheTimeOfSgdWithOneMessage) {
  for (const std::string& aggregation : {kRing, servers(2), std::string(kHybrid)}) {
    const Result local = simulate(training_experiment(strategy(aggregation, local_sgd(1)), 4));
    const Result sgd = simulate(training_experiment(strategy(aggregation, kSgd), 4));
    EXPECT_NEAR(local.step_time_s, sgd.step_time_s, 1e-9) << aggregation;
  }
}

// Of 4 workers in 2 clients: a ring of 2 over 8 MB, 2 ms + 8 ms, in every step; in every second one
// an incast of 2 clients on a server and back, 2 x (1 ms + 16 ms), and the broadcast, 1 ms + 8 ms.
TEST(LocalSgd, ClientsAllReduceGradientsInEveryStepAndExchangeParametersNowAndThen) {
  TrainingPlan plan = plan_training(training_experiment(strategy(kHybrid, local_sgd(2)), 4));
  plan.reported = TrainingPlan::Reported::kAll;  // one exchange, as if there were no other
  const TrainingTimes r = play_programs(plan, 1);
  EXPECT_NEAR(r.step_s - r.compute_s, 0.010 + (0.034 + 0.009) / 2, 1e-9);
}

// One worker's messages meet no others, so that both fidelities tell the same: 2 x (1 ms + 8 ms) in
// every second step.
TEST(LocalSgd, PushesAndPullsAreMessagesToo) {
  for (const char* run : {R"({"steps": 4})", R"({"steps": 4, "fidelity": "message"})"}) {
    const Result r = simulate(training_experiment(strategy(servers(1), local_sgd(2)), 1, run));
    EXPECT_NEAR(r.exposed_comm_s, 0.018 / 2, 1e-9) << run;
  }
}

// Workers wait for each other in every fourth step only: the slowest sum of four steps, not the sum
// of the slowest steps; then a ring of 4 over 8 MB, 6 x 1 ms + 12 ms.
TEST(LocalSgd, StragglersOfOneIntervalMakeUpForEachOther) {
  const Experiment e =
      training_experiment(strategy(kRing, local_sgd(4)), 4, R"({"variation": {"jitter": 0.2}})");
  double slowest = 0;
  for (std::int64_t worker = 0; worker < 4; ++worker) {
    double sum = 0;
    for (std::int64_t step = 0; step < 4; ++step)
      sum += 3 * e.run->variation.factor(1, worker, step);
    slowest = std::max(slowest, sum);
  }
  EXPECT_NEAR(simulate(e).step_time_s, (slowest + 0.018) / 4, 1e-9);
}

// A ring of 4 over 8 MB: every port sends 2 x 3/4 of it in an exchange, which is one step of four.
TEST(LocalSgd, LinksCarryWhatAStepExchangesInTheMean) {
  const Experiment e =
      training_experiment(strategy(kRing, local_sgd(4)), 4, R"({"fidelity": "message"})");
  std::vector<SentBucket> buckets;
  const Result r = simulate(e, &buckets);
  ASSERT_EQ(r.links.size(), 1u);  // that of a port stands for all
  EXPECT_EQ(r.links.front().bytes, 12'000'000 / 4);
  EXPECT_NEAR(r.links.front().busy * r.step_time_s, 0.012 / 4, 1e-9);
}

TEST(LocalSgd, AloneItSendsNothing) {
  const Result r = simulate(training_experiment(strategy(kRing, local_sgd(2)), 1));
  EXPECT_NEAR(r.step_time_s, 3, 1e-12);
  EXPECT_EQ(r.messages, 0);
}

Convergence learning(double momentum) {
  return {.problem = make<Problem>(R"({"type": "digits-softmax"})"),
          .epochs = 2,
          .batch = 4,
          .learning_rate = 0.01,
          .momentum = momentum};
}

// The mean of w_k - rate g_k over workers with the same w is w - rate mean(g), and velocities that
// differ have the mean that SGD's has.
TEST(LocalSgd, IntervalOneLearnsWhatSgdLearns) {
  for (const double momentum : {0.0, 0.9}) {
    const Convergence c = learning(momentum);
    const Played sgd(training_experiment(strategy(kRing, kSgd), 4), c);
    for (const std::string& aggregation : {kRing, servers(3), std::string(kHybrid)}) {
      const Played local(training_experiment(strategy(aggregation, local_sgd(1), "wfbp"), 4), c);
      for (std::size_t i = 0; i < sgd.client(0).size(); ++i)
        ASSERT_NEAR(local.client(0)[i], sgd.client(0)[i], 1e-12) << aggregation;
    }
  }
}

/// Stich's algorithm 1 with momentum, over the batches of `workers`.
std::vector<double> by_hand(const Convergence& c, std::int64_t workers, std::int64_t interval) {
  const Problem& problem = *c.problem;
  const auto n = static_cast<std::size_t>(workers);
  const std::size_t size = problem.parameters();
  std::vector<std::vector<double>> w(n, problem.initial(1));
  std::vector<std::vector<double>> v(n, std::vector<double>(size));
  std::vector<double> g(size);
  Batches batches(c, workers, 1);
  const double rate = c.learning_rate * static_cast<double>(workers);
  for (std::int64_t step = 0; step < c.steps(workers); ++step) {
    for (std::size_t k = 0; k < n; ++k) {
      problem.gradient(w[k], batches.batch(static_cast<std::int64_t>(k), step), g);
      for (std::size_t i = 0; i < size; ++i) {
        v[k][i] = c.momentum * v[k][i] - rate * g[i];
        w[k][i] += v[k][i];
      }
    }
    if ((step + 1) % interval != 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k)
        sum += w[k][i];
      for (std::size_t k = 0; k < n; ++k)
        w[k][i] = sum / static_cast<double>(workers);
    }
  }
  return w[0];
}

TEST(LocalSgd, IsTheAlgorithmWhateverTheNetworkAndTheSpeeds) {
  const Convergence c = learning(0.9);
  const std::string drift = R"({"variation": {"spread": 0.3, "jitter": 0.3}})";
  const std::vector<double> expected = by_hand(c, 4, 3);
  for (const std::string& aggregation : {kRing, servers(3)}) {
    for (const char* schedule : {"wfbp", "sync-easgd"}) {
      const Experiment e =
          training_experiment(strategy(aggregation, local_sgd(3), schedule), 4, drift);
      EXPECT_EQ(Played(e, c).client(0), expected) << aggregation << schedule;
    }
  }
}

}  // namespace
}  // namespace steptime
