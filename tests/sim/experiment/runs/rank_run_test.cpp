#include "sim/experiment/runs/rank_run.h"

#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>

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
                "kvstore or convergence expected {\"type\": \"async\"}");
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
