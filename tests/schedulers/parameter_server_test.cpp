#include "sim/core/error.h"
#include "sim/experiment/runs/one_step.h"
#include "tests/support/training.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ParameterServer, EveryWorkerIsAClient) {
  const Experiment e = training_experiment(strategy(servers(2), kSgd), 6);
  EXPECT_EQ(e.aggregation->clients, 6);
  EXPECT_EQ(e.aggregation->servers.count, 2);
  EXPECT_EQ(e.collective->time(Bytes{1000000000}), Duration{});
  EXPECT_FALSE(is_one_step(e));
}

TEST(ParameterServer, NeedsAServer) {
  try {
    training_experiment(strategy(servers(0), kSgd), 6);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "x.json: /strategy/aggregation/servers: expected at least 1; all-reduce needs none");
  }
}

}  // namespace
}  // namespace steptime
