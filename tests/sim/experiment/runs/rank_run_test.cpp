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

TEST(RankRun, EmbedsAllReduceInStepOnly) {
  const TinyFolder folder;
  const std::string patch =
      R"({"strategy": {"embedding": "funnel", "update": {"type": "local-sgd", "interval": 2}}})";
  EXPECT_EQ(message_of<InputError>([&] { tiny_experiment(folder, patch); }),
            folder.path("x.json") +
                ": /strategy/embedding: an engine embeds all-reduce in step; with servers, a "
                "kvstore or an update by which workers part expected {\"type\": \"async\"}");
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
