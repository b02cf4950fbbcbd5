#include "sim/experiment/runs/rank_run.h"

#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(RankRun, RefusesWhatRanksInStepCannotDo) {
  const TinyFolder folder;
  const auto error = [&](const std::string& more) {
    const std::string text = message_of<InputError>(
        [&] { tiny_experiment(folder, R"({"strategy": {"embedding": "naive")" + more + "}"); });
    return text.substr(text.find("/strategy"));
  };
  const std::string servers = R"(, "aggregation": {"type": "parameter-server", "servers": 2,
                                                   "collective": null, "a": null, "b": null)";
  EXPECT_EQ(error(servers + R"(, "requests": "next-step"}})"),
            "/strategy/aggregation: its workers pull at the start of a step, but an embedding's "
            "pull of a key is behind its push; expected another \"requests\", or an embedding "
            "{\"type\": \"async\"}");
  EXPECT_EQ(error(servers + R"(}, "schedule": {"type": "priority", "granularity": null}})"),
            "/strategy/schedule: decides while the step runs what all ranks reduce next, but "
            "servers take keys as each client sends them; expected an embedding {\"type\": "
            "\"async\"}, or none that decides");
}

// Its main thread has nothing else to hand over while it is inside a call. Under a coordinator it
// runs, call by call.
TEST(RankRun, FunnelGivesAPolicyNothingToChooseFrom) {
  const TinyFolder folder;
  for (const char* schedule : {"priority", "tensor-fusion"}) {
    const std::string patch = fmt::format(
        R"({{"strategy": {{"embedding": "funnel", "schedule": {{"type": "{}", "granularity": null}}}}}})",
        schedule);
    EXPECT_EQ(message_of<InputError>([&] { tiny_experiment(folder, patch); }),
              folder.path("x.json") +
                  ": /strategy/schedule: decides which of several gradients goes next, but this "
                  "embedding's main thread is inside one all-reduce at a time; expected another "
                  "schedule, or embedding");
  }
  const auto step = [&](const std::string& more) {
    return simulate(tiny_experiment(folder, R"({"strategy": {"embedding": "funnel")" + more + "}}"))
        .step_time_s;
  };
  EXPECT_GT(step(R"(, "transport": {"type": "mpi", "coordinator": {"type": "horovod"}})"),
            step(""));
}

// In every second step three keys are summed, each over 4 workers.
TEST(RankRun, LocalStepsSendNothingInBetween) {
  const TinyFolder folder;
  const auto run = [&](const std::string& more, std::vector<SentBucket>* sent = nullptr) {
    return simulate(tiny_experiment(folder, R"({"strategy": {"embedding": "naive")" + more), sent);
  };
  const std::string local = R"(, "update": {"type": "local-sgd", "interval": 2})";
  const Result each = run("}}");
  const Result second = run(local + "}}");
  EXPECT_LT(second.step_time_s, each.step_time_s);
  EXPECT_NEAR(second.comm_busy_s, each.comm_busy_s / 2, 1e-12);
  EXPECT_EQ(each.messages, 3);
  EXPECT_EQ(second.messages, 2) << "1.5 a step";
}

// Of one worker, over 1 GB/s and 10 us. conv, 1 MB: pushed 1.01 ms, answered 0.01, asked for 0.01
// and sent 1.01. fc.w, 4 MB, in the same way 8.04; fc.b, 4 kB, comes behind its values, 0.004
// later. As long are keys under way at servers.
TEST(RankRun, KeysAreUnderWayAtServersUntilTheirValuesAreBack) {
  const TinyFolder folder;
  const Result run = simulate(tiny_experiment(folder, R"({
      "cluster": {"nodes": 1, "gpus_per_node": 1},
      "strategy": {"aggregation": {"type": "parameter-server", "servers": 1, "collective": null,
                                   "a": null, "b": null},
                   "embedding": {"type": "naive", "python_call": "0 s", "engine_push": "0 s",
                                 "wake_up": "0 s", "copy_latency": "0 s",
                                 "copy_bandwidth": "1e9 GB/s"}}})"));
  EXPECT_NEAR(run.comm_busy_s, 2.04e-3 + 8.044e-3, 1e-9);
  EXPECT_EQ(run.messages, 2 * 3);
}

TEST(RankRun, OneRankStandsForAll) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, R"({"strategy": {"embedding": "depcha"}})");
  const Result one = simulate(e);
  EXPECT_EQ(one.embedded->simulated_ranks, 1);
  const WithoutFastPaths ranks;
  const Result all = simulate(e);
  EXPECT_EQ(all.embedded->simulated_ranks, 4);
  EXPECT_EQ(all.step_time_s, one.step_time_s);
  EXPECT_EQ(all.fingerprint, one.fingerprint);
}

}  // namespace
}  // namespace steptime
