#include "sim/training/learner.h"

#include "tests/support/training.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Convergence learning(const std::string& problem, double rate, double epochs = 2,
                     std::int64_t batch = 4) {
  return {.problem = make<Problem>(problem),
          .epochs = epochs,
          .batch = batch,
          .learning_rate = rate,
          .momentum = 0.9};
}
const char* const kBowl = R"({"type": "quadratic", "samples": 960, "noise": 1, "condition": 5})";
const char* const kDigits = R"({"type": "digits-softmax"})";
const std::string kEsgd = R"({"type": "esgd", "interval": 3, "alpha": 0.25})";

/// v = momentum v - rate g, w = w + v, over the batches of one worker.
std::vector<double> plain_sgd(const Convergence& c, std::int64_t worker, std::int64_t workers) {
  std::vector<double> w = c.problem->initial(1);
  std::vector<double> v(w.size());
  std::vector<double> g(w.size());
  Batches batches(c, workers, 1);
  for (std::int64_t step = 0; step < c.steps(workers); ++step) {
    c.problem->gradient(w, batches.batch(worker, step), g);
    for (std::size_t i = 0; i < w.size(); ++i) {
      v[i] = c.momentum * v[i] - c.learning_rate * g[i];
      w[i] += v[i];
    }
  }
  return w;
}

TEST(Learner, OneWorkerIsPlainSgdBitForBit) {
  for (const char* problem : {kBowl, kDigits}) {
    const Convergence c = learning(problem, 0.05);
    const std::vector<double> expected = plain_sgd(c, 0, 1);
    for (const std::string& update : {kSgd, kAsgd}) {
      const Played run(training_experiment(strategy(servers(3), update, "wfbp"), 1), c);
      EXPECT_EQ(run.client(0), expected) << problem << update;
      EXPECT_EQ(run.center(), expected) << problem << update;
    }
    EXPECT_EQ(Played(training_experiment(strategy(kRing, kSgd), 1), c).client(0), expected);
  }
}

TEST(Learner, OneSynchronousClientEqualsPureMpi) {
  const Convergence c = learning(kDigits, 0.01);
  const std::string hybrid = R"({"type": "hybrid", "clients": 1, "servers": 2})";
  const Played mpi(training_experiment(strategy(kRing, kSgd), 6), c);
  const Played served(training_experiment(strategy(hybrid, kSgd, "wfbp"), 6), c);
  EXPECT_EQ(mpi.client(0), served.client(0));
}

TEST(Learner, SynchronousTrajectoriesDoNotDependOnTheNetwork) {
  const Convergence c = learning(kDigits, 0.01);
  const Played fast(training_experiment(strategy(servers(1), kSgd), 6, "{}", 1e12), c);
  const Played slow(training_experiment(strategy(servers(4, R"(, "rate": "1 MB/s")"), kSgd, "wfbp"),
                                        6, R"({"variation": {"spread": 0.3, "jitter": 0.3}})", 1e6),
                    c);
  EXPECT_EQ(fast.client(0), slow.client(0));
  ASSERT_EQ(fast.times.curve.size(), slow.times.curve.size());
  for (std::size_t i = 0; i < fast.times.curve.size(); ++i)
    EXPECT_EQ(fast.times.curve[i].score.loss, slow.times.curve[i].score.loss);
  EXPECT_LT(fast.times.end_s, slow.times.end_s);
}

TEST(Learner, AlphaZeroMakesElasticClientsIndependent) {
  const Convergence c = learning(kBowl, 0.05);
  const std::string alone = R"({"type": "esgd", "interval": 2, "alpha": 0})";
  const Played run(
      training_experiment(strategy(servers(2), alone), 3, R"({"variation": {"spread": 0.4}})"), c);
  for (std::int64_t worker = 0; worker < 3; ++worker)
    EXPECT_EQ(run.client(worker), plain_sgd(c, worker, 3));
  EXPECT_EQ(run.center(), c.problem->initial(1));
}

/// Sample s has the gradient 2^s whatever the parameters, so that a sum says which samples are in
/// it, and how often.
class PowersOfTwo final : public Problem {
 public:
  std::size_t parameters() const override { return 7; }
  std::int64_t samples() const override { return 32; }
  std::int32_t label(std::int32_t) const override { return 0; }
  std::vector<double> initial(std::int64_t) const override {
    return std::vector<double>(parameters());
  }
  void gradient(std::span<const double>, std::span<const std::int32_t> samples,
                std::span<double> gradient) const override {
    for (double& each : gradient) {
      each = 0;
      for (const std::int32_t s : samples)
        each += std::ldexp(1.0, s);
    }
  }
  Score test(std::span<const double>) const override { return {}; }
};

Convergence powers() {
  return {.problem = std::make_shared<PowersOfTwo>(), .epochs = 1, .batch = 1, .learning_rate = 1};
}

TEST(Learner, EveryGradientCountsExactlyOnce) {
  // One epoch takes every sample once: 2^0 + ... + 2^31 in every parameter. The rate grows with the
  // workers whose mean an update takes, so a synchronous update subtracts the sum; and powers of
  // two make both exact.
  const std::vector<double> all(7, -(std::ldexp(1.0, 32) - 1));
  const std::string drift = R"({"variation": {"spread": 0.4, "jitter": 0.4}})";
  const std::string hybrid = R"({"type": "hybrid", "clients": 2, "servers": 3})";
  for (const std::string& update : {kSgd, kAsgd}) {
    for (const std::string& aggregation : {servers(3), hybrid}) {
      const Experiment e = training_experiment(strategy(aggregation, update, "wfbp"), 8, drift);
      EXPECT_EQ(Played(e, powers()).center(), all) << aggregation << update;
    }
  }
}

TEST(Learner, ReadingsOfTheElasticEquations) {
  // One client, interval 1, gradient 2^s in step k: s_k. With alpha = 1, the pull that sees the
  // push returns the client's own parameters, so that it trains alone; the simultaneous reading
  // swaps the client's parameters with the centre.
  Convergence c = powers();
  Batches batches(c, 1, 1);
  std::vector<double> gradients;
  for (std::int64_t step = 0; step < 32; ++step)
    gradients.push_back(std::ldexp(1.0, batches.batch(0, step)[0]));
  const auto esgd = [](const char* reading) {
    return std::string(R"({"type": "esgd", "interval": 1, "alpha": 1, "reading": ")") + reading +
           R"("})";
  };
  double alone = 0;
  double client = 0;
  double center = 0;
  double last = 0;  // the centre at the end is the client of the start of the last step
  for (const double g : gradients) {
    last = alone;
    alone -= g;
    std::swap(client, center);
    client -= g;
  }
  const Played after(training_experiment(strategy(servers(2), esgd("push-then-pull")), 1), c);
  EXPECT_EQ(after.client(0)[0], alone);
  EXPECT_EQ(after.center()[0], last);
  const Played before(training_experiment(strategy(servers(2), esgd("simultaneous")), 1), c);
  EXPECT_EQ(before.client(0)[0], client);
  EXPECT_EQ(before.center()[0], center);
}

TEST(Learner, ElasticClientsAreHeldTogether) {
  // Without noise and with the same data, the spread of two clients of a bowl goes to zero with the
  // exchange, and both reach the optimum.
  Convergence c = learning(R"({"type": "quadratic", "samples": 240})", 0.05, 40);
  const Played run(training_experiment(strategy(servers(1), kEsgd), 2), c);
  for (std::size_t i = 0; i < run.client(0).size(); ++i) {
    EXPECT_NEAR(run.client(0)[i], static_cast<double>(i + 1), 1e-3);
    EXPECT_NEAR(run.center()[i], static_cast<double>(i + 1), 1e-3);
  }
}

TEST(Learner, ClientsThatPushAsOneAreOneClientOfSeveralWorkers) {
  // The same batches and sums of two workers each; only rounding may differ.
  const Convergence c = learning(kBowl, 0.1);
  const Piece all{.ranges = {{0, c.problem->parameters()}}};
  for (const std::string& type : {kSgd, kAsgd}) {
    const auto update = make<Update>(type);
    Learner workers(c, *update, 4, 1, true, 1, 2);
    Learner groups(c, *update, 2, 2, true, 1);
    EXPECT_DOUBLE_EQ(workers.learning_rate(), groups.learning_rate());
    for (std::int64_t w = 0; w < 4; ++w)
      workers.compute(w, 0);
    for (std::int64_t g = 0; g < 2; ++g)
      groups.compute(g, 0);
    for (Learner* learner : {&workers, &groups}) {
      if (update->waits_for_all()) {
        learner->apply_all(all);
      } else {
        learner->apply(1, all);
      }
      learner->pull(1, all);
    }
    for (const std::int64_t w : {2, 3}) {
      workers.take(w);
      groups.take(1);
      for (std::size_t i = 0; i < c.problem->parameters(); ++i)
        EXPECT_NEAR(workers.client(w)[i], groups.client(1)[i], 1e-12);
    }
    EXPECT_NE(workers.client(2)[0], workers.client(0)[0]);
  }
}

TEST(Learner, RateGrowsWithTheMiniBatch) {
  Convergence c = learning(kBowl, 0.1);
  const auto sgd = make<Update>(kSgd);
  const auto asgd = make<Update>(kAsgd);
  EXPECT_DOUBLE_EQ(Learner(c, *asgd, 4, 1, true, 1, 2).learning_rate(), 0.2);
  EXPECT_DOUBLE_EQ(Learner(c, *sgd, 2, 6, true, 1).learning_rate(), 1.2);
  EXPECT_DOUBLE_EQ(Learner(c, *asgd, 2, 6, true, 1).learning_rate(), 0.6);
  c.scaling = 0.5;
  EXPECT_DOUBLE_EQ(Learner(c, *make<Update>(kEsgd), 2, 9, true, 1).learning_rate(), 0.3);
  c.scaling = 0;
  EXPECT_DOUBLE_EQ(Learner(c, *sgd, 2, 6, true, 1).learning_rate(), 0.1);
}

}  // namespace
}  // namespace steptime
