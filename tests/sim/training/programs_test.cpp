#include "sim/training/programs.h"

#include "sim/training/play.h"
#include "tests/support/training.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

double end_of(const std::string& strategy, std::int64_t workers, const std::string& run) {
  const Experiment e = training_experiment(strategy, workers, run);
  return play_programs(plan_of_all_steps(e), e.run->seed).end_s;
}
const std::string kTwoSteps = R"({"steps": 2})";

// Steps of 1 s forward (0.5 and 0.5 s) and 2 s backward (1 and 1 s); 4 MB in each of two layers, on
// ports of 1 ms and 1 GB/s: 4 ms a layer. One worker, and a server beside it.

TEST(Programs, AWorkerOfServersPushesEachBucketWhenItIsThere) {
  // The second bucket's gradients are there at 3 s: 5 ms to the server and as many back.
  EXPECT_DOUBLE_EQ(end_of(strategy(servers(1), kSgd, "wfbp"), 1, R"({"steps": 1})"), 3.010);
}

TEST(Programs, PullsFirstHoldALayerUpByItsOwnValues) {
  // A step ends with the answer to its last push, 5 + 1 ms after the backward pass. Requests take 1
  // ms; the first layer's values are there 5 ms later, the second one's behind them at 9 ms, which
  // is long before it is needed: each step begins 6 ms later than it could.
  const std::string next = R"({"type": "parameter-server", "servers": 1, "requests": "next-step",
                              "pull_order": "forward"})";
  EXPECT_DOUBLE_EQ(end_of(strategy(next, kSgd, "wfbp"), 1, kTwoSteps), 2 * (0.006 + 3 + 0.006));
}

TEST(Programs, ALayerGoesOnWithItsOwnGradientsOnly) {
  // Two workers and a ring, 2 (1 + 2) = 6 ms for 4 MB each way ... by priority: what the first
  // layer needs, whose gradients come last, is back 6 ms after the backward pass; the second one's
  // has been back for a second. So each step but the first begins 6 ms after the one before has
  // computed.
  const std::string priority = R"({"aggregation": )" + kRing + R"(, "update": {"type": "sgd"},
      "schedule": {"type": "priority", "partition": "4 MB", "credit": "4 MB"}})";
  EXPECT_NEAR(end_of(priority, 2, kTwoSteps), 2 * (3 + 0.006), 1e-9);
}

TEST(Programs, LocalStepsWithServersExchangeAtTheirEnd) {
  // 8 MB in one message: 1 + 8 ms to the server and as many back, after the second step.
  EXPECT_DOUBLE_EQ(
      end_of(strategy(servers(1), R"({"type": "local-sgd", "interval": 2})"), 1, kTwoSteps),
      2 * 3 + 0.018);
}

TEST(Programs, ClientsAddUpInsideAndSpreadWhatComesBack) {
  // A client of both workers: a ring of 2 (1 + 4) = 10 ms, a push of 9 ms and values in as many,
  // and a chain of one hop to the other worker: 1 + 8 ms.
  const std::string hybrid =
      R"({"type": "hybrid", "clients": 1, "servers": 1, "requests": "pushpull",
          "collective": {"type": "ring"}})";
  EXPECT_NEAR(end_of(strategy(hybrid, kSgd), 2, R"({"steps": 1})"),
              3 + 0.010 + 0.009 + 0.009 + 0.009, 1e-9);
}

}  // namespace
}  // namespace steptime
