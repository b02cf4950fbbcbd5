#include "sim/core/error.h"
#include "tests/support/training.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Hybrid, AClientReducesAmongItsWorkersOnly) {
  const Experiment e =
      training_experiment(strategy(R"({"type": "hybrid", "clients": 2, "servers": 1})", kSgd), 4);
  EXPECT_EQ(e.aggregation->clients, 2);
  // Ring of 2 over 4 MB: 2 ms + 4 ms; the servers' way adds 4 latencies and 2 * 2 * 4 ms.
  EXPECT_EQ(e.aggregation->inside->time(Bytes{4000000}), std::chrono::milliseconds(6));
  EXPECT_EQ(e.aggregation->whole->time(Bytes{4000000}), std::chrono::milliseconds(6 + 4 + 16));
}

TEST(Hybrid, ClientsNeedServersToMeet) {
  try {
    training_experiment(strategy(R"({"type": "hybrid", "clients": 2, "servers": 0})", kSgd), 4);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "x.json: /strategy/aggregation/servers: 2 clients need servers to meet at; 0 servers "
              "take 1 client");
  }
}

}  // namespace
}  // namespace steptime
