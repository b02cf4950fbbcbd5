// Training runs at message fidelity.
#include "sim/core/error.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "tests/support/messages.h"
#include "tests/support/training.h"
#include "tests/support/unmatched.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;

std::string messages(const std::string& more = "") {
  return R"({"fidelity": "message")" + more + "}";
}

Result played(const std::string& aggregation, const std::string& update, std::int64_t workers,
              const std::string& schedule = "sync-easgd", const std::string& more = "") {
  return simulate(
      training_experiment(strategy(aggregation, update, schedule), workers, messages(more)));
}
Result closed(const std::string& aggregation, const std::string& update, std::int64_t workers,
              const std::string& schedule = "sync-easgd", const std::string& run = "{}") {
  return simulate(training_experiment(strategy(aggregation, update, schedule), workers, run));
}

/// One layer of 25,000,000 parameters, 100 MB.
std::shared_ptr<const PreparedWorkload> hundred_megabytes() {
  Trace trace{.model = "one", .device = "none", .batch = 1};
  trace.layers.push_back({.name = "one", .tensors = {{"one", 25'000'000}}});
  return std::make_shared<PreparedWorkload>(Workload{.trace = std::move(trace)});
}

TEST(MessageRuns, NamesWhoWaitsForEver) {
  // Two streams: collectives are in flight together, and the first never ends.
  const Experiment e = training_experiment(
      R"({"aggregation": )" + kRing +
          R"(, "update": {"type": "sgd"}, "schedule": {"type": "wfbp"}, "transport": {"type": "mpi", "streams": 2}})",
      3, messages());
  TrainingPlan plan = plan_training(e);
  plan.aggregation.inside = std::make_shared<Unmatched>(*e.cluster);
  EXPECT_EQ(message_of<InternalError>([&] { play_programs(plan, 1); }),
            "steptime::Unmatched: " + kWaits);
}

TEST(MessageRuns, IncastEqualsAFlowSimulator) {
  // SimGrid 3.32 S4U, star of 50 us and 1.25 GB/s: N workers push 100 MB to one server and pull it
  // back: 2 (50 us + N 80 ms).
  for (const auto& [workers, seconds] : {std::pair(64, 10.2401), std::pair(1024, 163.8401)}) {
    Experiment e = training_experiment(strategy(servers(1), kSgd), workers, messages());
    e.workload = hundred_megabytes();
    const Link link{microseconds(50), {1.25e9}};
    e.cluster = std::make_shared<Cluster>(
        Cluster{.nodes = workers, .gpus_per_node = 1, .network = link, .intra_node = link});
    EXPECT_NEAR(simulate(e).step_time_s, seconds, 1e-9) << workers;
  }
}

/// The server's port is full: N M beta / S each way, and a latency each, as in closed form.
TEST(MessageRuns, IncastIsTheClosedForm) {
  for (const int n : {1, 2, 7, 64}) {
    for (const int s : {1, 2, 4}) {
      if (n < s) continue;
      EXPECT_NEAR(played(servers(s), kSgd, n).exposed_comm_s, 2 * (0.001 + 0.008 * n / s), 1e-9)
          << n << " on " << s;
    }
  }
}

/// A single worker contends with nobody: both fidelities are the same to the picosecond, whatever
/// the requests, the server's thread and the update.
TEST(MessageRuns, WithoutContentionItIsTheClosedForm) {
  const std::string thread =
      R"({"type": "parameter-server", "servers": 1, "rate": "100 MB/s", "request_time": "1 ms"})";
  for (const std::string& aggregation : {servers(1), thread}) {
    for (const std::string& update :
         {kSgd, kAsgd, std::string(R"({"type": "esgd", "interval": 2})")}) {
      const Result message = played(aggregation, update, 1, "sync-easgd", R"(, "steps": 5)");
      const Result analytic = closed(aggregation, update, 1, "sync-easgd", R"({"steps": 5})");
      EXPECT_EQ(message.step_time_s, analytic.step_time_s) << aggregation << update;
      EXPECT_EQ(message.comm_busy_s, analytic.comm_busy_s) << aggregation << update;
      EXPECT_EQ(message.messages, analytic.messages) << aggregation << update;
    }
  }
}

TEST(MessageRuns, ClientsReduceAndBroadcastAsMessages) {
  // As at analytic fidelity: 4 workers in 2 clients, a ring of 2 over 8 MB takes 2 ms + 8 ms,
  // incast of 2 clients on 1 server 2 (1 ms + 16 ms), the broadcast 1 ms + 8 ms.
  const std::string hybrid =
      R"({"type": "hybrid", "clients": 2, "servers": 1, "requests": "pushpull"})";
  EXPECT_NEAR(played(hybrid, kSgd, 4).exposed_comm_s, 0.010 + 2 * 0.017 + 0.009, 1e-9);
}

TEST(MessageRuns, RingsAndPushesShareALink) {
  // Key two leaves first. Its push leaves client 0 while the ring of key one goes round: rank 0
  // sends both, so that the step is longer than with a link for each.
  const std::string hybrid =
      R"({"type": "hybrid", "clients": 1, "servers": 1, "requests": "pushpull"})";
  Experiment e = training_experiment(strategy(hybrid, kSgd, "wfbp"), 2, messages());
  Workload workload = two_layers()->workload;
  for (Layer& layer : workload.trace.layers)
    layer.backward = Duration{};
  e.workload = std::make_shared<PreparedWorkload>(std::move(workload));
  // Ring of 4 MB over 2: 2 (1 ms + 2 ms) = 6 ms each; push 5 ms, pull 5 ms, broadcast 5 ms. Alone,
  // the second key ends at 12 + 15 ms. The second ring's halves meet the push (0 to the server) on
  // the way out of rank 0, and then the first broadcast.
  const double alone = 1.0 + 0.012 + 0.015;
  const double step = simulate(e).step_time_s;
  EXPECT_GT(step, alone + 0.001);
  EXPECT_LT(step, alone + 0.012);
}

TEST(MessageRuns, ServersBesideWorkersAreReachedInsideTheNode) {
  // As at analytic fidelity: of each 8 MB, half crosses the network to the other node.
  EXPECT_NEAR(played(servers(2, R"(, "placement": "with-workers")"), kSgd, 2).exposed_comm_s,
              2 * (0.001 + 0.004), 1e-9);
}

TEST(MessageRuns, WorkersReachTheirHostOverAsManyLinksAsInClosedForm) {
  // Four workers of one node and 8 MB: 8 ms each way over links of their own; two on a link, 16 ms;
  // all on one, 32 ms. In closed form the same, at both ends of which there is 1 ms of latency.
  for (const auto& [sharing, ms] : {std::pair(1, 8), std::pair(2, 16), std::pair(4, 32)}) {
    for (const std::string& run : {messages(), std::string("{}")}) {
      Experiment e = training_experiment(
          strategy(servers(1, R"(, "placement": "with-workers", "workers_per_host_link": )" +
                                  std::to_string(sharing)),
                   kSgd),
          4, run);
      Cluster cluster = *e.cluster;
      cluster.nodes = 1;
      cluster.gpus_per_node = 4;
      e.cluster = std::make_shared<Cluster>(cluster);
      // The first step, before some workers are ahead of others.
      const Result r = simulate(e);
      EXPECT_NEAR(*r.cold_step_time_s - r.compute_time_s, 2 * (0.001 + 0.001 * ms), 1e-9)
          << sharing << run;
    }
  }
}

TEST(MessageRuns, EveryPushIsAppliedOnce) {
  const Result r = played(servers(2), kAsgd, 5, "wfbp", R"(, "steps": 40)");
  std::int64_t updates = 0;
  for (const std::int64_t count : r.training->runs[0].staleness)
    updates += count;
  EXPECT_EQ(updates, 5 * 40 * 4);  // two keys, each split over two servers
  EXPECT_EQ(r.messages, 2 * 5 * 4);
}

/// One reported step after two that fill the network: what links carried in all three is counted
/// with the time of all three.
TEST(MessageRuns, NoLinkIsBusyForLongerThanTheRun) {
  const Experiment e =
      read_experiment(std::make_shared<Document>(Document{"x.json", parse_json(R"({"name": "x",
          "workload": {"model": "torch/resnet50", "device": "v100", "batch": 32},
          "cluster": {"preset": "p3.16xlarge", "nodes": 4, "gpus_per_node": 6},
          "strategy": {"aggregation": {"type": "parameter-server", "servers": 4,
                                       "placement": "with-workers", "requests": "next-step"},
                       "schedule": "priority", "update": "asgd"},
          "run": {"fidelity": "message", "steps": 1}})",
                                                                               "x.json")}));
  std::vector<SentBucket> buckets;
  const Result r = simulate(e, &buckets);
  ASSERT_FALSE(r.links.empty());
  for (const LinkUse& link : r.links)
    EXPECT_LE(link.busy, 1) << link.from << " to " << link.to;
}

TEST(MessageRuns, ARunIsRepeatable) {
  const auto run = [] { return played(servers(2), kAsgd, 6, "wfbp", R"(, "steps": 10)"); };
  EXPECT_EQ(run().fingerprint, run().fingerprint);
}

}  // namespace
}  // namespace steptime
