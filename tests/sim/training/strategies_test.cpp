#include "sim/experiment/result.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/simulate.h"
#include "sim/training/plan.h"
#include "tests/support/training.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// What a run of one exchange adds to its compute per step: no other one is under way beside it.
double exposed_alone_s(const Experiment& e) {
  TrainingPlan plan = plan_training(e);
  plan.reported = TrainingPlan::Reported::kAll;
  const TrainingTimes times = play_programs(plan, 1);
  return times.step_s - times.compute_s;
}

/// N workers push 8 MB at the same time, and get it back: N M beta / S each way, and a latency
/// each. With fewer workers than servers the first answers overlap the last pushes.
TEST(Training, IncastIsTheClosedForm) {
  for (const int n : {1, 2, 7, 64}) {
    for (const int s : {1, 2, 4}) {
      if (n < s) continue;
      const Experiment e = training_experiment(strategy(servers(s), kSgd), n);
      EXPECT_NEAR(exposed_alone_s(e), 2 * (0.001 + 0.008 * n / s), 1e-9) << n << " on " << s;
    }
  }
}

/// 24 MB to a server on the first of two nodes, 1 us and 100 GB/s away in it, 1 GB/s between nodes
/// without latency. Compute takes 2 us. The push from beside the server is in after 1 + 240 us, the
/// other one after 24 ms: before, no answer leaves, and 24 ms more bring it to the second node.
TEST(Training, NoAnswerLeavesBeforeTheLastPushIsIn) {
  Trace trace{.model = "one", .device = "none", .batch = 1};
  trace.layers.push_back({.name = "one",
                          .forward = std::chrono::microseconds(1),
                          .backward = std::chrono::microseconds(1),
                          .tensors = {{"one", 6'000'000}}});
  Experiment e =
      training_experiment(strategy(servers(1, R"(, "placement": "with-workers")"), kSgd), 2);
  e.workload = std::make_shared<PreparedWorkload>(Workload{.trace = std::move(trace)});
  e.cluster =
      std::make_shared<Cluster>(Cluster{.nodes = 2,
                                        .gpus_per_node = 1,
                                        .network = {Duration{}, {1e9}},
                                        .intra_node = {std::chrono::microseconds(1), {100e9}}});
  EXPECT_EQ(simulate(e).step_time_s, 0.048002);
}

TEST(Training, AskingForThePullCostsARoundTrip) {
  const double fused = exposed_alone_s(training_experiment(strategy(servers(1), kSgd), 4));
  const double asked = exposed_alone_s(training_experiment(
      strategy(R"({"type": "parameter-server", "servers": 1, "requests": "push-pull"})", kSgd), 4));
  EXPECT_NEAR(asked - fused, 0.002, 1e-9);
}

/// One thread for bytes in and out: 2 N M / rate per server, the first byte a latency and a
/// transfer after the push, the last one a transfer and a latency before the end.
TEST(Training, TheServersThreadLimits) {
  const Experiment e =
      training_experiment(strategy(servers(1, R"(, "rate": "100 MB/s")"), kSgd), 4);
  EXPECT_NEAR(exposed_alone_s(e), 2 * (0.001 + 0.008) + 8 * 0.08, 1e-9);
  EXPECT_NEAR(simulate(e).comm_busy_s, 8 * 0.08, 1e-9);
}

TEST(Training, RequestTimeAndUpdateCostOccupyTheThread) {
  const Experiment e = training_experiment(
      strategy(servers(1, R"(, "request_time": "10 ms", "update_cost": "1 ns/B")"), kSgd), 2);
  // Pushes are in at 9 and 17 ms; the second is served from 19 to 29 ms and updates for 8 ms; two
  // replies of 8 ms each follow, and a latency.
  EXPECT_NEAR(exposed_alone_s(e), 0.009 + 0.010 + 0.010 + 0.008 + 2 * 0.008 + 0.001, 1e-9);
}

/// A server on every node: of each 8 MB, half crosses the network to the other node.
TEST(Training, ServersBesideWorkers) {
  const Experiment e =
      training_experiment(strategy(servers(2, R"(, "placement": "with-workers")"), kSgd), 2);
  EXPECT_NEAR(exposed_alone_s(e), 2 * (0.001 + 0.004), 1e-9);
}

TEST(Training, AsynchronousWorkersAreStaleByTheOthersUpdates) {
  // All are alike: in the steady state every other worker updates once between a worker's pull and
  // its push.
  const Experiment e = training_experiment(strategy(servers(1), kAsgd), 5, R"({"steps": 200})");
  const Result r = simulate(e);
  EXPECT_NEAR(r.training->mean_staleness(), 4, 0.05);
  std::int64_t updates = 0;
  for (const std::int64_t count : r.training->runs[0].staleness)
    updates += count;
  EXPECT_EQ(updates, 5 * 200);  // every push is applied once
}

TEST(Training, AStragglerHoldsUpOnlySynchronousWorkers) {
  const std::string run =
      R"({"steps": 200, "variation": {"straggle_chance": 0.1, "straggle_factor": 5}})";
  const Result sync = simulate(training_experiment(strategy(servers(1), kSgd), 8, run));
  const Result async = simulate(training_experiment(strategy(servers(1), kAsgd), 8, run));
  // A worker's mean step is 3 s (1 + 0.1 * 4) = 4.2 s. That none of 8 straggles has probability
  // 0.9^8 = 0.43, so that the mean of the slowest is 3 (0.43 + 0.57 * 5) = 9.8 s.
  EXPECT_NEAR(async.step_time_s, 4.2 + 0.02, 0.2);
  EXPECT_NEAR(sync.step_time_s, 9.8 + 0.13, 0.8);
}

TEST(Training, OneClientWithoutServersIsPureMpi) {
  // The event run of a hybrid with no server, made necessary by a variation that does nothing.
  const std::string ring = R"({"type": "all-reduce", "collective": {"type": "ring"}})";
  const std::string hybrid = R"({"type": "hybrid", "clients": 1, "servers": 0})";
  for (const char* schedule : {"wfbp", "naive", "sync-easgd"}) {
    const Result closed = simulate(training_experiment(strategy(ring, kSgd, schedule), 4));
    const Result events = simulate(
        training_experiment(strategy(hybrid, kSgd, schedule), 4,
                            R"({"variation": {"straggle_chance": 1, "straggle_factor": 1}})"));
    EXPECT_FALSE(closed.training);
    ASSERT_TRUE(events.training);
    EXPECT_EQ(closed.step_time_s, events.step_time_s) << schedule;
  }
}

TEST(Training, ClientsReduceBeforeTheyPush) {
  // 4 workers in 2 clients: a ring of 2 over 8 MB costs 2 ms + 8 ms; incast of 2 clients on 1
  // server 2 (1 ms + 16 ms); the broadcast 1 ms + 8 ms.
  const std::string hybrid =
      R"({"type": "hybrid", "clients": 2, "servers": 1, "requests": "pushpull"})";
  const Experiment e = training_experiment(strategy(hybrid, kSgd), 4);
  EXPECT_NEAR(exposed_alone_s(e), 0.010 + 2 * 0.017 + 0.009, 1e-9);
}

TEST(Training, ACollectiveMaySpreadWhatWasPulled) {
  // Reduce-scatter among 2: 1 ms + 4 ms; push and pull of 1 client 2 (1 ms + 8 ms); all-gather as
  // reduce-scatter.
  const std::string hybrid =
      R"({"type": "hybrid", "clients": 1, "servers": 1, "requests": "pushpull",
          "collective": {"type": "reduce-scatter"}, "spread": {"type": "all-gather"}})";
  const Result r = simulate(training_experiment(strategy(hybrid, kSgd), 2));
  EXPECT_NEAR(r.exposed_comm_s, 0.005 + 2 * 0.009 + 0.005, 1e-9);
}

/// Two keys of 4 MB on one server, which are ready at the end of the step:
///
///   push       1 |....2222|            1 ms latency, 4 ms each
///   ack 1      1 |....a                at 5 ms, and 1 ms back
///   request 1          ....r           behind push 2: at 9 ms
///   pull            1          |....2222|    1 ms and 8 ms: 18 ms
TEST(Training, AnEarlyPullFollowsThePushesOnItsConnection) {
  const std::string early =
      R"({"type": "parameter-server", "servers": 1, "requests": "early-pull",
          "sharding": {"type": "byteps", "partition": 1000000}})";
  const Result r = simulate(training_experiment(strategy(early, kSgd), 1));
  EXPECT_NEAR(r.exposed_comm_s, 0.018, 1e-9);
  EXPECT_EQ(r.messages, 4);
}

/// 2 clients, 2 keys of 4 MB. The server has the pushes at 5, 9 (the first sum), 13 and 17 ms (the
/// second sum):
///
///   push 1, 2 of client 0    |....    ....    |      in at 5 and 13 ms
///   push 1, 2 of client 1    |    ....    ....|      in at 9 and 17 ms
///
/// Requests for the first key follow a client's second push: answers start at 13 and 17 ms. For the
/// second key client 0 asks at 14 + 1 ms and waits, client 1 at 18 + 1 ms: answers start at 21 and
/// 25 ms. The last one is there at 29 + 1 ms.
TEST(Training, AnEarlyPullWaitsForTheSum) {
  const std::string early =
      R"({"type": "parameter-server", "servers": 1, "requests": "early-pull",
          "sharding": {"type": "byteps", "partition": 1000000}})";
  EXPECT_NEAR(exposed_alone_s(training_experiment(strategy(early, kSgd), 2)), 0.030, 1e-9);
}

/// Four clients that push in different orders wait for no sum before they push on: in all ways to
/// pull, every part of every gradient goes to the server and back once a step.
TEST(Training, PrioritySendsEverythingThroughServers) {
  for (const char* requests : {"push-pull", "pushpull", "early-pull", "next-step"}) {
    Experiment e =
        training_experiment(strategy(R"({"type": "parameter-server", "servers": 1, "requests": ")" +
                                         std::string(requests) + "\"}",
                                     kSgd),
                            4, R"({"steps": 3, "variation": {"jitter": 0.2}})", 1e7);
    e.schedule = make<Schedule>(R"({"type": "priority", "partition": "1 MB", "credit": "1 B"})");
    e.execution = &execution_of(e);
    const Result r = simulate(e);
    EXPECT_EQ(r.messages, 2 * 4 * 8) << requests;  // 2 x 4 MB in parts of 1 MB
    // 4 clients push 8 MB each over the server's port of 10 MB/s.
    EXPECT_GE(r.step_time_s, 3.2) << requests;
  }
}

TEST(Training, TheNextStepPullsBeforeItsForwardPass) {
  // 1 worker, 1 server. The first layer needs key one: asked for 1 ms, 1 ms and 4 ms back. Its key
  // is first in forward order; the other one comes at 10 ms, long before 506 ms. A push of 4 MB
  // leaves after each layer's backward pass, the last one 1 + 4 ms to go and 1 ms to be answered.
  const std::string pulls =
      R"({"type": "parameter-server", "servers": 1, "requests": "next-step",
          "pull_order": "forward"})";
  const Result r = simulate(training_experiment(strategy(pulls, kSgd, "wfbp"), 1));
  EXPECT_NEAR(r.exposed_comm_s, 0.006 + 0.006, 1e-9);
}

TEST(Training, ARandomOrderOfPullsIsOneOfTwo) {
  // As above; in the other order key one comes behind key two, 4 ms later.
  const std::string pulls =
      R"({"type": "parameter-server", "servers": 1, "requests": "next-step"})";
  const Result r =
      simulate(training_experiment(strategy(pulls, kSgd, "wfbp"), 1, R"({"steps": 1000})"));
  // 1000 fair coins: the mean of 0 and 4 ms within 5 standard deviations, 5 * 4 / (2 sqrt(1000)).
  EXPECT_NEAR(r.exposed_comm_s, 0.012 + 0.002, 0.00032);
}

TEST(Training, LearningPullsWhatTheNextStepNeeds) {
  // Momentum SGD on a bowl: synchronous values do not depend on when they are pulled. A client has
  // the values of its last pull, one update behind the servers.
  const Experiment usual = training_experiment(strategy(servers(2), kSgd, "wfbp"), 4);
  const Experiment late = training_experiment(
      strategy(R"({"type": "parameter-server", "servers": 2, "requests": "next-step"})", kSgd,
               "wfbp"),
      4);
  const Convergence bowl{.problem = make<Problem>(R"({"type": "quadratic", "samples": 64})"),
                         .epochs = 5,
                         .batch = 2,
                         .learning_rate = 0.05,
                         .momentum = 0.5};
  EXPECT_EQ(Played(usual, bowl).center(), Played(late, bowl).center());
}

TEST(Training, ElasticClientsMeetTheServersEveryInterval) {
  const std::string esgd = R"({"type": "esgd", "interval": 10})";
  const Result r =
      simulate(training_experiment(strategy(servers(1), esgd), 2, R"({"steps": 100})"));
  // 10 exchanges in 100 steps: 2 clients push and pull 1 message each; all hidden behind 3 s of
  // compute.
  std::int64_t updates = 0;
  for (const std::int64_t count : r.training->runs[0].staleness)
    updates += count;
  EXPECT_EQ(updates, 2 * 10);
  EXPECT_NEAR(r.step_time_s, 3, 1e-9);
}

TEST(Training, TheSameSeedGivesTheSameRun) {
  const std::string run = R"({"steps": 20, "variation": {"spread": 0.2, "jitter": 0.1}})";
  const Experiment e = training_experiment(strategy(servers(2), kAsgd, "wfbp"), 6, run);
  EXPECT_EQ(simulate(e).fingerprint, simulate(e).fingerprint);
  Experiment other = e;
  auto settings = std::make_shared<RunSettings>(*e.run);
  settings->seed = 2;
  other.run = settings;
  EXPECT_NE(simulate(e).fingerprint, simulate(other).fingerprint);
}

TEST(Training, TheTimelineShowsComputeMessagesAndServers) {
  //  compute |forward 1 s|backward 2 s|, push 9 ms, thread 80 ms, thread 80 ms, pull 9 ms; the
  //  gradients of both layers, which are there after the whole backward pass, flow into all that
  //  follows.
  Timeline timeline;
  simulate(training_experiment(strategy(servers(1, R"(, "rate": "100 MB/s")"), kSgd), 1), timeline);
  std::vector<std::string> spans;
  for (const Timeline::Span& span : timeline.spans()) {
    EXPECT_EQ(span.details.flow == 0, span.name.ends_with(" forward")) << span.name;
    spans.push_back(timeline.tracks()[span.track].actor + " " + timeline.tracks()[span.track].name +
                    ": " + span.name + " " +
                    std::to_string((span.end - span.start) / std::chrono::milliseconds(1)));
  }
  // Three steps, which are alike, show that they are steady.
  ASSERT_EQ(spans.size(), 3 * 8U);
  EXPECT_EQ(std::vector(spans.begin() + 8, spans.begin() + 16),
            std::vector(spans.begin() + 16, spans.end()));
  spans.resize(8);
  EXPECT_EQ(spans, (std::vector<std::string>{
                       "rank 0 compute: one forward 500", "rank 0 compute: two forward 500",
                       "rank 0 compute: two backward 1000", "rank 0 compute: one backward 1000",
                       "rank 0 push: two +1 9", "server 0 thread: push two +1 80",
                       "server 0 thread: pull two +1 80", "rank 0 pull: two +1 9"}));
}

/// Two clients in two steps, after two of warm-up, with some buckets: a flow each, through
/// gradient, push, both jobs of the server's thread and pull, in this order.
TEST(Training, EveryBucketOfEveryStepAndClientIsAFlow) {
  Timeline timeline;
  simulate(training_experiment(strategy(servers(1, R"(, "rate": "100 MB/s")"), kAsgd, "wfbp"), 2,
                               R"({"steps": 2})"),
           timeline);
  std::map<std::uint64_t, std::vector<std::pair<Time, std::string>>> flows;
  for (const Timeline::Span& span : timeline.spans()) {
    const std::string& lane = timeline.tracks()[span.track].name;
    const std::string job = lane == "thread" ? span.name.substr(0, 4) + " thread" : lane;
    if (span.details.flow != 0) flows[span.details.flow].emplace_back(span.start, job);
  }
  const std::size_t buckets = flows.size() / 8;
  EXPECT_GE(buckets, 2U);
  EXPECT_EQ(flows.size(), 8 * buckets);
  for (auto& [flow, spans] : flows) {
    std::stable_sort(spans.begin(), spans.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> jobs;
    for (const auto& [start, job] : spans)
      jobs.push_back(job);
    EXPECT_EQ(jobs, (std::vector<std::string>{"compute gradients", "push", "push thread",
                                              "pull thread", "pull"}))
        << flow;
  }
}

TEST(Training, MoreBandwidthIsNeverSlower) {
  double before = 1e9;
  for (const double bandwidth : {1e7, 1e8, 1e9, 1e10}) {
    const Result r =
        simulate(training_experiment(strategy(servers(2), kSgd, "wfbp"), 6, "{}", bandwidth));
    EXPECT_LE(r.step_time_s, before) << bandwidth;
    before = r.step_time_s;
  }
}

}  // namespace
}  // namespace steptime
