#include "sim/training/fleet.h"
#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

TrainingPlan plan_of(const std::string& aggregation, const std::string& run = "{}") {
  return plan_training(training_experiment(strategy(aggregation, kSgd), 4, run));
}
const std::string kHybrid = R"({"type": "hybrid", "clients": 2, "servers": 1})";

TEST(Roads, AClientOfOneAddsNothingUp) {
  World world;
  const TrainingPlan plan = plan_of(servers(1));
  const auto roads = make_roads(world, plan);
  EXPECT_NE(dynamic_cast<NoMedium*>(roads->medium(0, *plan.aggregation.inside).get()), nullptr);
}

TEST(Roads, WhatMeetsNothingIsATime) {
  World world;
  const TrainingPlan plan = plan_of(kRing);
  const auto roads = make_roads(world, plan);
  EXPECT_NE(dynamic_cast<AloneMedium*>(roads->medium(0, *plan.aggregation.inside).get()), nullptr);
}

TEST(Roads, ClientsThatSpreadValuesShareTheirLinks) {
  World world;
  const TrainingPlan plan = plan_of(kHybrid);
  const auto roads = make_roads(world, plan);
  EXPECT_NE(dynamic_cast<FlowMedium*>(roads->medium(0, *plan.aggregation.inside).get()), nullptr);
  EXPECT_NE(dynamic_cast<PortWire*>(roads->wire().get()), nullptr);
}

TEST(Roads, MessagesGoOverTheMachinesLinks) {
  World world;
  const TrainingPlan plan = plan_of(kHybrid, R"({"fidelity": "message"})");
  const auto roads = make_roads(world, plan);
  EXPECT_NE(dynamic_cast<MessageMedium*>(roads->medium(1, *plan.aggregation.inside).get()),
            nullptr);
  // A client's first worker and the server, which has a node of its own: two hops of 0.5 ms.
  EXPECT_EQ(roads->wire()->latency(1, 0), milliseconds(1));
}

}  // namespace
}  // namespace steptime
