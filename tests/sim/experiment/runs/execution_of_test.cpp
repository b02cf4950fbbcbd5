#include "sim/experiment/runs/execution_of.h"

#include "sim/core/error.h"
#include "tests/support/simulated.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string error_of(const std::string& patch) {
  const TinyFolder folder;
  try {
    tiny_experiment(folder, patch);
  } catch (const InputError& e) {
    const std::string text = e.what();
    return text.substr(text.find(": /") + 2);
  }
  return "";
}

TEST(Execution, ALayoutInMessagesNeedsCollectivesThatAreMadeOfSome) {
  EXPECT_EQ(error_of(R"({"strategy": {"layout": {}}, "run": {"fidelity": "message"}})"),
            "/strategy/aggregation: its collective is known by its time only; fidelity \"message\" "
            "expects one that is made of messages, such as {\"collective\": \"ring\"}");
}

TEST(Execution, AnEngineKnowsNoStreams) {
  EXPECT_EQ(
      error_of(R"({"strategy": {"embedding": "funnel",
                                      "transport": {"type": "mpi", "streams": 2}}})"),
      "/strategy/transport: has several streams, but in an engine the embedding says how many "
      "collectives are outstanding; expected 1");
}

TEST(Execution, WhatAFrameworkDoesBetweenPassesIsKnownOfAllReducesOnly) {
  EXPECT_EQ(error_of(R"({"strategy": {"schedule": {"type": "priority", "between_passes": "5 ms"},
                         "aggregation": {"type": "parameter-server", "servers": 2,
                                         "collective": null}}})"),
            "/strategy/schedule/between_passes: expected 0 s with servers, got \"5 ms\": what a "
            "framework does there is known of all-reduces only");
}

}  // namespace
}  // namespace steptime
