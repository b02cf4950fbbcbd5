#include "sim/experiment/runs/kvstore_run.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Two GPUs of one process, 1 GB/s between them, with more of the strategy.
std::string kvstore(const std::string& more) {
  return R"({"cluster": {"nodes": 1, "gpus_per_node": 2, "intra_node":
                {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
             "strategy": {"aggregation": {"type": "kvstore", "collective": null, "a": null,
                                          "b": null})" +
         more + "}}";
}

TEST(KvstoreRun, TakesWhatAProcessOfAKvstoreHas) {
  const TinyFolder folder;
  const auto error = [&](const std::string& more) {
    const std::string text =
        message_of<InputError>([&] { tiny_experiment(folder, kvstore(more)); });
    return text.substr(text.find("/strategy"));
  };
  EXPECT_EQ(error(R"(, "transport": {"type": "mpi", "streams": 2})"),
            "/strategy/transport: has several streams, which a kvstore has not; expected 1");
  EXPECT_EQ(error(R"(, "embedding": "funnel")"),
            "/strategy/embedding: issues all-reduces, but this kvstore merges by operations of its "
            "own; expected {\"type\": \"module\"} or {\"type\": \"async\"}");
}

TEST(KvstoreRun, IsNotSlowedDownByKernels) {
  const TinyFolder folder;
  const auto error = [&](const std::string& patch) {
    Json config = Json::parse(kvstore(""));
    config.merge_patch(Json::parse(patch));
    const std::string text =
        message_of<InputError>([&] { tiny_experiment(folder, config.dump()); });
    return text.substr(text.find(": /") + 2);
  };
  EXPECT_EQ(error(R"({"workload": {"overlap": "factors"}})"),
            "/workload/overlap: unexpected, as kernels and what a kvstore adds up on a node do not "
            "slow each other down");
  EXPECT_EQ(error(R"({"cluster": {"intra_node_beside_kernels": 2}})"),
            "/cluster/intra_node_beside_kernels: what a kvstore adds up on a node is not slowed "
            "down by kernels; expected 1");
}

TEST(KvstoreRun, KeysTravelInStepsThatExchange) {
  const TinyFolder folder;
  const auto messages = [&](const std::string& more) {
    return simulate(tiny_experiment(folder, kvstore(more))).messages;
  };
  EXPECT_EQ(messages(""), 3);
  EXPECT_EQ(messages(R"(, "update": {"type": "local-sgd", "interval": 3})"), 1);
}

}  // namespace
}  // namespace steptime
