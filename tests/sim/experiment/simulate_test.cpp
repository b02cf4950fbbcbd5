#include "sim/experiment/simulate.h"

#include "sim/core/error.h"
#include "sim/experiment/result_text.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// The reasons to doubt a result that are not the record's.
std::vector<std::string> own_reasons(const Result& result) {
  std::vector<std::string> reasons = result.domain.beyond;
  std::erase_if(reasons, [](const std::string& reason) {
    return reason.starts_with("no measured steps of its kind") ||
           reason.starts_with("none of the nearest shares its");
  });
  return reasons;
}

TEST(Simulate, GivesTheFiguresOfTheTinyExperiment) {
  const TinyFolder folder;
  const Result r = simulate(tiny_experiment(folder, R"({"workload": {"dataset_samples": 1000}})"));
  EXPECT_EQ(r.step_time_s, 0.044);
  EXPECT_EQ(r.compute_time_s, 0.042);
  EXPECT_EQ(r.forward_time_s, 0.015);
  EXPECT_EQ(r.backward_time_s, 0.027);
  EXPECT_EQ(r.comm_busy_s, 0.008004);
  EXPECT_EQ(r.exposed_comm_s, 0.002);
  EXPECT_DOUBLE_EQ(r.throughput_samples_per_s, 4 * 32 / 0.044);
  // One worker needs 42 ms for 32 samples, four need 44 ms for 128: 4 * 42 / 44.
  EXPECT_DOUBLE_EQ(r.speedup, 4 * 42 / 44.0);
  EXPECT_DOUBLE_EQ(r.scaling_efficiency, 42 / 44.0);
  EXPECT_EQ(r.workers, 4);
  EXPECT_EQ(r.messages, 3);
  ASSERT_TRUE(r.epoch_time_s);
  EXPECT_DOUBLE_EQ(*r.epoch_time_s, 8 * 0.044);  // ceil(1000 / 128) = 8 steps
  // No published step has an all-reduce that is a line.
  EXPECT_EQ(r.domain.status, Validity::Status::kUnvalidated);
}

TEST(Simulate, OneWorkerDoesNotCommunicate) {
  const TinyFolder folder;
  const Result r = simulate(tiny_experiment(folder, R"({"cluster": {"nodes": 1}})"));
  EXPECT_EQ(r.step_time_s, 0.042);
  EXPECT_EQ(r.comm_busy_s, 0);
  EXPECT_EQ(r.exposed_comm_s, 0);
  EXPECT_EQ(r.speedup, 1);
  EXPECT_EQ(r.scaling_efficiency, 1);
  EXPECT_EQ(r.messages, 0);
  EXPECT_FALSE(r.epoch_time_s);
}

TEST(Simulate, TheEventEngineGivesTheSame) {
  const TinyFolder folder;
  for (const char* schedule : {"naive", "wfbp", "sync-easgd", "mg-wfbp", "optimal"}) {
    const Experiment e = tiny_experiment(folder, std::string(R"({"run": {"steps": 3}, "strategy":
                                       {"schedule": {"type": ")") +
                                                     schedule + "\"}}}");
    Timeline timeline;
    const Result closed = simulate(e);
    const Result played = simulate(e, timeline);
    EXPECT_EQ(csv_cells(played), csv_cells(closed)) << schedule;
    // 2 * 3 layers and the messages, in each of three steps
    EXPECT_EQ(timeline.spans().size(), 3 * (6 + static_cast<std::size_t>(closed.messages)));
  }
}

TEST(Simulate, TheFingerprintTellsTrajectoriesApart) {
  // A startup that is half a microsecond longer moves the end of every message; names and seeds
  // move nothing.
  const TinyFolder folder;
  const Result a = simulate(tiny_experiment(folder));
  const Result b = simulate(tiny_experiment(folder, R"({"strategy": {"aggregation": {"collective":
                                              {"a": "1.0005 ms"}}}})"));
  EXPECT_NE(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.fingerprint,
            simulate(tiny_experiment(folder, R"({"name": "y", "run": {"seed": 5}})")).fingerprint);
}

TEST(Simulate, SaysWhatIsExtrapolated) {
  const TinyFolder folder;
  folder.write("table.csv", "bytes,time_us\n1000,1000\n100000,2000\n");
  const std::string table = R"("strategy": {"aggregation": {"collective":
                               {"type": "table", "file": "table.csv", "a": null, "b": null}}})";
  // fc.b has 4 kB; fc.w, the first to leave the table, has 4 MB.
  const auto beyond = [&](const std::string& patch) {
    return fmt::format("{}",
                       fmt::join(own_reasons(simulate(tiny_experiment(folder, patch))), "; "));
  };
  EXPECT_EQ(beyond("{" + table + "}"), "4000000 B is outside the measured 1000 to 100000 B");
  EXPECT_EQ(beyond(R"({"workload": {"batch": 64}})"), "compute times scaled from batch 32 to 64");
  EXPECT_EQ(beyond(R"({"workload": {"batch": 64}, )" + table + "}"),
            "compute times scaled from batch 32 to 64; 4000000 B is outside the measured 1000 to "
            "100000 B");
}

// Three micro-batches: 15 ms forward, 2 x 42 for the second and the third but its backward pass, 27
// backward, and conv's 2 ms of communication at the end. Before the last one's gradients exist
// nothing is sent: fc.b from 15 + 84 + 5 on.
TEST(Simulate, AddsUpMicroBatches) {
  const TinyFolder folder;
  for (const char* schedule : {R"("wfbp")", R"({"type": "tensor-fusion", "cycle": "0 s"})"}) {
    const Experiment e = tiny_experiment(
        folder,
        fmt::format(R"({{"workload": {{"accumulate": 3}}, "strategy": {{"schedule": {}}}}})",
                    schedule));
    std::vector<SentBucket> buckets;
    const Result r = simulate(e, &buckets);
    EXPECT_DOUBLE_EQ(r.step_time_s, 0.128);
    EXPECT_DOUBLE_EQ(r.compute_time_s, 0.126);
    EXPECT_DOUBLE_EQ(r.throughput_samples_per_s, 4 * 96 / 0.128);
    EXPECT_DOUBLE_EQ(buckets.front().start_s, 0.104);
  }
}

// The optimizer runs once a step, also where compute_time is given for a layer table: three
// micro-batches of 300 ms are 900 ms but twice the optimizer's part, which a longer forward pass
// keeps.
TEST(Simulate, AddsUpMicroBatchesWithOneUpdate) {
  const TinyFolder folder;
  const auto compute = [&](const std::string& more) {
    return simulate(tiny_experiment(folder, R"({"workload": {"trace": null, "model": "resnet50",
                     "device": "v100", "batch": 16, "compute_time": "300 ms")" +
                                                more + "}}"))
        .compute_time_s;
  };
  for (const char* more : {"", R"(, "rescale": "forward")", R"(, "forward_share": 0.4)"}) {
    const double three = compute(std::string(more) + R"(, "accumulate": 3)");
    EXPECT_LT(three, 0.9) << more;
    EXPECT_GT(three, 0.8) << more;
  }
}

// 524,288 s for the samples of a step, twenty times over, are more than simulated time has.
TEST(Simulate, RefusesInputsWithoutEnd) {
  const TinyFolder folder;
  EXPECT_EQ(message_of<InputError>([&] {
              simulate(tiny_experiment(folder, R"({"workload": {"input": 6.103515625e-05},
                  "strategy": {"schedule": "tensor-fusion"}})"));
            }),
            folder.path("x.json") +
                ": /: the run takes 10485760 s or more, of the 4000000 s that can be simulated");
}

/// A ring of four GPUs over 50 B/s: 6/4 of fc's 4 MB take 120,000 s, which while kernels run are
/// 12,000,000 s.
TEST(Simulate, NamesTheFactorThatMakesLinksTooSlow) {
  const TinyFolder folder;
  const auto of = [&](int factor, const char* bandwidth) {
    return message_of<InputError>([&] {
      simulate(tiny_experiment(
          folder, fmt::format(R"({{"workload": {{"overlap": {{"type": "factors", "compute": 1.1}}}},
              "cluster": {{"nodes": 1, "gpus_per_node": 4, "intra_node_beside_kernels": {},
                "intra_node": {{"type": "switch", "latency": "0 s", "bandwidth": "{}"}}}},
              "strategy": {{"transport": {{"type": "mpi", "streams": 2}},
                "aggregation": {{"collective": {{"type": "ring", "a": null, "b": null}}}}}}}})",
                              factor, bandwidth)));
    });
  };
  const std::string range = " s is beyond the range of simulated time (106 days)";
  EXPECT_EQ(of(100, "50 B/s"),
            folder.path("x.json: /cluster/intra_node_beside_kernels: 12000000") + range);
  // 6/4 of all 5.004 MB take 7,506,000 s by themselves, behind 42 ms: no factor is to blame.
  EXPECT_EQ(
      of(100, "1 B/s"),
      folder.path("x.json: /strategy/aggregation: one step takes 7506000.042 s, more than the "
                  "4000000 s that can be simulated"));
  EXPECT_EQ(of(1, "50 B/s"), "no error");
}

// Priorities are played until three steps take the same time: 3 x 1000 h leave simulated time,
// and check() knows it, too; 300 h fit.
TEST(Simulate, RefusesStepsThatPlayedTogetherLeaveTime) {
  const TinyFolder folder;
  const auto of = [&](const char* time) {
    return tiny_experiment(folder, fmt::format(R"({{"workload": {{"compute_time": "{}"}},
                                                   "strategy": {{"schedule": "priority"}}}})",
                                               time));
  };
  const std::string expected =
      folder.path("x.json") +
      ": /: the run takes 10800000 s or more, of the 4000000 s that can be simulated";
  const Experiment long_one = of("1000 h");
  EXPECT_EQ(message_of<InputError>([&] { simulate(long_one); }), expected);
  EXPECT_EQ(message_of<InputError>([&] { check_training_run(long_one); }), expected);
  EXPECT_NEAR(simulate(of("300 h")).compute_time_s, 300 * 3600, 1e-3);
}

// fc's all-reduces cost kernels something, which "optimal" does not weigh.
TEST(Simulate, SaysWhereAPlanNeedNotBeTheBest) {
  const TinyFolder folder;
  const auto beyond = [&](const char* schedule, const char* overlap) {
    return own_reasons(
        simulate(tiny_experiment(folder, fmt::format(R"({{"workload": {{"overlap": {}}},
                                                 "strategy": {{"schedule": "{}"}}}})",
                                                     overlap, schedule))));
  };
  const std::string own = "what overlap costs is the experiment's own";
  const char* factors = R"({"type": "factors", "compute": 1.3})";
  EXPECT_EQ(beyond("optimal", R"("none")"), std::vector<std::string>{});
  EXPECT_EQ(beyond("wfbp", factors), std::vector<std::string>{own});
  EXPECT_EQ(
      beyond("optimal", factors),
      (std::vector<std::string>{"the schedule's plan is the best one only for all-reduces one "
                                "after another that cost kernels nothing",
                                own}));
}

// Four clients and four servers have four connections at each end, of which a host carries three:
// as a wire of 3 GB/s, at both fidelities.
TEST(Simulate, ServersHaveAllConnectionsOfTheirClients) {
  const TinyFolder folder;
  const auto step = [&](const char* network, const char* fidelity) {
    return simulate(tiny_experiment(folder, fmt::format(R"({{
        "cluster": {{"network": {}}}, "run": {{"fidelity": "{}"}},
        "strategy": {{"aggregation": {{"type": "parameter-server", "servers": 4,
                                       "collective": null}}}}}})",
                                                        network, fidelity)))
        .step_time_s;
  };
  const char* tcp = R"({"type": "tcp", "latency": "10 us", "bandwidth": "100 Gbps",
                        "connection": "1 GB/s", "host": "3 GB/s"})";
  const char* wire = R"({"type": "switch", "latency": "10 us", "bandwidth": "3 GB/s"})";
  for (const char* fidelity : {"analytic", "message"})
    EXPECT_DOUBLE_EQ(step(tcp, fidelity), step(wire, fidelity));
}

// No published step tells how good they are, as ByteScheduler's have costs that are not simulated.
TEST(Simulate, PredictionsOfPriorityAreAKindOfTheirOwn) {
  const TinyFolder folder;
  const Result result =
      simulate(tiny_experiment(folder, R"({"strategy": {"schedule": "priority"}})"));
  EXPECT_EQ(result.domain.status, Validity::Status::kUnvalidated);
  EXPECT_NE(result.domain.text().find("all-reduce, priority"), std::string::npos);
}

// 32 samples of a worker at 500 a second are there every 64 ms: the step of 44 ms waits for 20.
TEST(Simulate, AStepWaitsForItsSamples) {
  const TinyFolder folder;
  for (const char* schedule :
       {R"("wfbp")", R"({"type": "tensor-fusion", "cycle": "0 s"})", R"({"type": "priority"})"}) {
    const auto at = [&](double rate) {
      return tiny_experiment(folder,
                             fmt::format(R"({{"workload": {{"input": {}}}, "run": {{"steps": 5}},
                                   "strategy": {{"schedule": {}}}}})",
                                         rate, schedule));
    };
    std::vector<SentBucket> buckets;
    const Result r = simulate(at(500), &buckets);
    EXPECT_DOUBLE_EQ(r.step_time_s, 0.064) << schedule;
    EXPECT_NEAR(*r.exposed_input_s, 0.064 - r.compute_time_s - r.exposed_comm_s, 1e-15);
    double sum = 0;
    double waited = 0;
    for (const Cause& cause : r.attribution) {
      sum += cause.seconds;
      if (cause.cause == "input") waited += cause.seconds;
    }
    EXPECT_DOUBLE_EQ(sum, 0.064) << schedule;
    EXPECT_GT(waited, 0.019) << schedule;
    const Result enough = simulate(at(1000));
    EXPECT_EQ(enough.step_time_s, simulate(at(1e6)).step_time_s) << schedule;
  }
  const Result r = simulate(tiny_experiment(folder, R"({"workload": {"input": 500}})"));
  EXPECT_DOUBLE_EQ(*r.exposed_input_s, 0.020);
  EXPECT_DOUBLE_EQ(r.exposed_comm_s, 0.002);
  // What is known of 44 ms says less than 64, which steps differ from by 3 % as from any other
  // time.
  EXPECT_DOUBLE_EQ(r.step_time_interval_s.low, 0.064 / 1.03);
  EXPECT_GE(r.step_time_interval_s.high, 0.064 * 1.03);
  EXPECT_EQ(message_of<InputError>([&] {
              simulate(tiny_experiment(folder, R"({"workload": {"input": 3.0517578125e-05}})"));
            }),
            folder.path("x.json") +
                ": /workload/input: the samples of a step take 1048576 s, at most 1000000 s");
}

// Samples come every 160 ms (32 at 200/s), the slowest of four workers computes 42 / 0.3 = 140 of
// them, and the others, which wait for it after every second step, 42: the mean wait is longer than
// the 20 ms that the slowest has.
TEST(Simulate, AStepIsWhatItIsMadeOf) {
  const TinyFolder folder;
  const Result r = simulate(tiny_experiment(folder, R"({"workload": {"input": 200},
      "strategy": {"update": {"type": "local-sgd", "interval": 2}},
      "run": {"variation": {"gpus": [{"node": 1, "speed": 0.3}]}}})"));
  EXPECT_NEAR(r.step_time_s, 0.160, 1e-12);
  EXPECT_NEAR(r.compute_time_s, 0.140, 1e-12);
  EXPECT_NEAR(*r.exposed_input_s, 0.020, 1e-12);
  EXPECT_NEAR(r.exposed_comm_s, 0, 1e-12);
}

// Of 42 ms of compute in a step of 44: where the host took 100 ms under a profiler the step may
// take 58 more. A host of 40 ms is never waited for.
TEST(Simulate, AStepMayWaitForTheHost) {
  const TinyFolder folder;
  const Interval alone = simulate(tiny_experiment(folder)).step_time_interval_s;
  folder.patch_trace(R"({"host_s": 0.1})");
  const Result slow = simulate(tiny_experiment(folder));
  EXPECT_DOUBLE_EQ(slow.step_time_s, 0.044);
  EXPECT_EQ(slow.step_time_interval_s.low, alone.low);
  EXPECT_DOUBLE_EQ(slow.step_time_interval_s.high, 0.102);
  folder.patch_trace(R"({"host_s": 0.04})");
  EXPECT_EQ(simulate(tiny_experiment(folder)).step_time_interval_s.high, alone.high);
}

}  // namespace
}  // namespace steptime
