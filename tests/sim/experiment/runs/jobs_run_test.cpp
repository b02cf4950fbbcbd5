// Jobs of the tiny experiment with two nodes each, on 10 us and 1 GB/s: 42 ms of compute, and then
// a ring of two for all 5,004,000 B: 2 rounds of 10 us + 2.502 ms, 47.024 ms together.
#include "sim/experiment/runs/jobs_run.h"

#include "sim/core/error.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kRing = R"({"cluster": {"network": {"latency": "10 us"}}, "strategy": {
    "schedule": "sync-easgd",
    "aggregation": {"collective": {"type": "ring", "a": null, "b": null}}},
    "run": {"fidelity": "message"}})";
constexpr double kAlone = 0.042 + 2 * (10e-6 + 2.502e-3);

Result run(const TinyFolder& folder, const std::vector<std::string>& sets) {
  return simulate(read_experiment(load_document(folder.experiment(kRing), sets)));
}

TEST(JobsRun, OnNodesOfOneSwitchEachTakesWhatItTakesAlone) {
  const TinyFolder folder;
  const double alone = run(folder, {"/cluster/nodes=2"}).step_time_s;
  EXPECT_NEAR(alone, kAlone, 1e-12);
  for (const char* start : {"0 s", "3 ms", "1.234567 s"}) {
    const Result r = run(folder, {R"(/jobs=[{"nodes": [0, 3]}, {"nodes": [2, 1], "start": ")" +
                                      std::string(start) + "\"}]",
                                  "/run/steps=3"});
    ASSERT_EQ(r.jobs.size(), 2U);
    EXPECT_NEAR(r.step_time_s, alone, 1e-13);
    for (const JobTimes& job : r.jobs) {
      EXPECT_NEAR(job.step_s, alone, 1e-13) << start;
      EXPECT_EQ(job.step_s, job.alone_s) << start;
      EXPECT_EQ(job.slowdown(), 1);
      EXPECT_EQ(job.workers, 2);
    }
    EXPECT_EQ(r.workers, 2);
  }
}

/// On a fat tree with two hosts to an edge switch, where the destination's number chooses the way
/// up, 0 -> 2 and 1 -> 4 go up over one link. Each has half of it: rounds of 10 us + 5.004 ms.
const std::string kTree = R"(/cluster/fabric={"type": "fat-tree", "radix": 4})";

TEST(JobsRun, ThatShareAnUplinkHaveHalfOfItEach) {
  const TinyFolder folder;
  const Result r = run(folder, {kTree, "/cluster/nodes=5", "/run/steps=4",
                                R"(/jobs=[{"nodes": [0, 2]}, {"nodes": [1, 4]}])"});
  constexpr double kTogether = 0.042 + 2 * (10e-6 + 5.004e-3);
  for (const JobTimes& job : r.jobs) {
    EXPECT_NEAR(job.alone_s, kAlone, 1e-11);
    EXPECT_NEAR(job.step_s, kTogether, 1e-11);
  }
  EXPECT_NEAR(figure_of(r, "slowdown"), kTogether / kAlone, 1e-9);
}

/// The second one sends from 48 to 53.024 ms, when the first one, done at 47.024 ms, computes, and
/// so on: they never meet.
TEST(JobsRun, ThatSendInTurnDoNotNotice) {
  const TinyFolder folder;
  const Result r = run(folder, {kTree, "/cluster/nodes=5", "/run/steps=4",
                                R"(/jobs=[{"nodes": [0, 2]},
                                          {"nodes": [1, 4], "start": "6 ms"}])"});
  for (const JobTimes& job : r.jobs)
    EXPECT_NEAR(job.step_s, kAlone, 1e-11);
}

/// A job with half of the batch computes 21 ms and has two steps for each of the other: it goes on
/// beside it. Its own workload is its own.
TEST(JobsRun, GoOnUntilAllHaveTheirSteps) {
  const TinyFolder folder;
  const Result r = run(folder, {kTree, "/cluster/nodes=5", "/run/steps=1",
                                R"(/jobs=[{"nodes": [0, 2], "name": "slow"},
                       {"nodes": [1, 4], "workload": {"trace": "trace.json", "batch": 16}}])"});
  EXPECT_EQ(r.jobs[0].name, "slow");
  EXPECT_EQ(r.jobs[1].name, "job 1");
  // Its only reported step, 21 + 5.024 ms, is over before the other one sends. A second one
  // begins at 26.024 ms and sends from 47.024 ms on, where the first job ends: it is not met.
  EXPECT_NEAR(r.jobs[1].step_s, 0.021 + 2 * (10e-6 + 2.502e-3), 1e-11);
  EXPECT_NEAR(r.jobs[0].step_s, kAlone, 1e-11);
}

TEST(JobsRun, AddUpTheirCriticalPath) {
  const TinyFolder folder;
  std::vector<SentBucket> buckets;
  const std::vector<std::string> sets{
      R"(/jobs=[{"nodes": [0, 1], "start": "2 ms"}, {"nodes": [2, 3]}])"};
  const Result r =
      simulate(read_experiment(load_document(folder.experiment(kRing), sets)), &buckets);
  double sum = 0;
  for (const Cause& cause : r.attribution)
    sum += cause.seconds;
  EXPECT_NEAR(sum, r.step_time_s, 1e-12);
  EXPECT_EQ(buckets.size(), 1U);
}

TEST(JobsRun, RefusesWhatItDoesNotKnow) {
  const TinyFolder folder;
  const auto refusal = [&](const std::vector<std::string>& sets) {
    std::vector<std::string> all{R"(/jobs=[{"nodes": [0, 1]}, {"nodes": [2, 3]}])"};
    all.insert(all.end(), sets.begin(), sets.end());
    const std::string text = message_of<InputError>([&] { run(folder, all); });
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(refusal({"/run/fidelity=analytic"}),
            "/jobs: closed forms know no link by itself; expected \"message\" under /run/fidelity");
  EXPECT_EQ(refusal({R"(/strategy/aggregation={"type": "parameter-server", "servers": 1})"}),
            "/strategy/aggregation: jobs all-reduce; expected {\"type\": \"all-reduce\"}");
  EXPECT_EQ(refusal({"/run/variation={\"jitter\": 0.1, \"seeds\": 2}"}),
            "/run/variation/seeds: expected 1 beside other jobs, got 2");
  EXPECT_EQ(
      refusal(
          {R"(/strategy/aggregation/collective={"type": "linear", "a": "1 s", "b": "1 ns/B"})"}),
      "/strategy/aggregation/collective: fidelity \"message\" needs a collective that is made of "
      "messages, such as ring; this one is known by its time only");
  EXPECT_EQ(refusal({"/workload/input=100"}), "/workload/input: unexpected beside other jobs");
}

TEST(JobsRun, NameTheJobWhoseSectionIsWrong) {
  const TinyFolder folder;
  const auto refusal = [&](const std::string& strategy) {
    const std::string text = message_of<InputError>([&] {
      run(folder,
          {R"(/jobs=[{"nodes": [0, 1]}, {"nodes": [2, 3], "strategy": )" + strategy + "}]"});
    });
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(refusal(R"({"aggregation": {"type": "parameter-server", "servers": 1}})"),
            "/jobs/1/strategy/aggregation: jobs all-reduce; expected {\"type\": \"all-reduce\"}");
  EXPECT_EQ(
      refusal(R"({"aggregation": {"type": "all-reduce",
                  "collective": {"type": "linear", "a": "1 s", "b": "1 ns/B"}}})"),
      "/jobs/1/strategy/aggregation/collective: fidelity \"message\" needs a collective that is "
      "made of messages, such as ring; this one is known by its time only");
}

/// A step of a job computes 42 ms and sends four messages of two links: in 3e6 s there are 7e7
/// steps, in which 400,000 steps of a ring of 4 are few.
TEST(JobsRun, StartsThatNothingCanWaitForAreRefused) {
  const TinyFolder folder;
  const auto refusal = [&](const std::string& start, const std::string& nodes) {
    const Experiment e = read_experiment(load_document(
        folder.experiment(kRing),
        std::vector<std::string>{"/cluster/nodes=200",
                                 R"(/jobs=[{"nodes": [)" + nodes +
                                     R"(]}, {"nodes": [198, 199], "start": ")" + start + "\"}]"}));
    const std::string text = message_of<InputError>([&] { check_training_run(e); });
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(refusal("5000000 s", "0, 1").substr(0, 38), "/jobs/1/start: its steps end after 500");
  std::string nodes = "0";
  for (int node = 1; node < 100; ++node)
    nodes += ", " + std::to_string(node);
  const std::string many = refusal("3000000 s", nodes);
  // A ring of 100 has 2 x 99 rounds of 100 messages: 3e8 of them in 636 s, 42 ms for 19,801.
  EXPECT_EQ(many,
            "/jobs/1/start: expected 636 s at most, got 3e+06 s: until then others play about "
            "1e+12 messages of two links, of 3e+08 that a start may wait for");
}

/// At 100 B/s a ring of two sends 2 x 2,502,000 B in 50,040 s a step: 100 of them take 5e6 s, more
/// than the 4e6 s that can be simulated, which `check` says as `run` does, before it plays them.
TEST(JobsRun, ChecksHowLongStepsTakeOnTheLinks) {
  const TinyFolder folder;
  const Experiment e = read_experiment(load_document(
      folder.experiment(kRing),
      std::vector<std::string>{R"(/jobs=[{"nodes": [2, 3]}, {"nodes": [0, 1]}])",
                               "/cluster/network/bandwidth=100 B/s", "/run/steps=100"}));
  const std::string checked = message_of<InputError>([&] { check_training_run(e); });
  EXPECT_NE(checked.find(": /jobs/0: 100 steps of about 5e+04 s end after 5e+06 s, of the 4000000 "
                         "s that can be simulated"),
            std::string::npos)
      << checked;
  EXPECT_EQ(message_of<InputError>([&] { simulate(e); }), checked);
}

}  // namespace
}  // namespace steptime
