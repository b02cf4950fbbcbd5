#include "sim/experiment/runs/kvstore_run.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Two GPUs of one process, 1 GB/s between them, with more of the strategy; or two such processes
/// that meet at servers.
std::string kvstore(const std::string& more, int servers = 0) {
  return fmt::format(
      R"({{"cluster": {{"nodes": {}, "gpus_per_node": 2, "intra_node":
                {{"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}}}},
           "strategy": {{"aggregation": {{"type": "kvstore", "servers": {}, "collective": null,
                                          "a": null, "b": null}}{}}}}})",
      servers > 0 ? 2 : 1, servers, more);
}

/// What is said of the strategy.
std::string error_of(const std::string& changes) {
  const TinyFolder folder;
  const std::string text = message_of<InputError>([&] { tiny_experiment(folder, changes); });
  return text.substr(text.find("/strategy"));
}

TEST(KvstoreRun, NoKvstoreHasStreamsFusionOrACoordinator) {
  for (const int servers : {0, 1}) {
    const auto error = [&](const std::string& more) { return error_of(kvstore(more, servers)); };
    EXPECT_EQ(error(R"(, "transport": {"type": "mpi", "streams": 2})"),
              "/strategy/transport: has several streams, which a kvstore has not; expected 1");
    EXPECT_EQ(error(R"(, "schedule": {"type": "tensor-fusion"})"),
              "/strategy/schedule: fuses what is ready while the step runs, but a kvstore sends "
              "keys one by one; expected one that plans beforehand");
    for (const char* coordinator : {"horovod", "baidu"}) {
      EXPECT_EQ(
          error(
              fmt::format(R"(, "transport": {{"type": "mpi", "coordinator": "{}"}})", coordinator)),
          "/strategy/transport: has a coordinator, which a kvstore has not; expected {\"type\": "
          "\"none\"} under \"coordinator\"");
    }
  }
}

TEST(KvstoreRun, KeysGoToServersByPriority) {
  const std::string priority = R"(, "schedule": {"type": "priority"})";
  const TinyFolder folder;
  EXPECT_GT(simulate(tiny_experiment(folder, kvstore(priority, 1))).messages, 0);
  EXPECT_EQ(error_of(kvstore(priority)),
            "/strategy/schedule: decides while the step runs, but this kvstore takes keys as its "
            "engine does; expected one that plans beforehand");
}

TEST(KvstoreRun, TakesWhatAProcessOfAKvstoreHas) {
  const auto error = [](const std::string& more) { return error_of(kvstore(more)); };
  EXPECT_EQ(error(R"(, "embedding": "funnel")"),
            "/strategy/embedding: issues all-reduces, but a kvstore merges by operations of its "
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

// Two nodes push and pull three keys at one server, whoever plays them; workers also have those of
// two GPUs with their node, and two copies of each sum between these and the host.
TEST(KvstoreRun, MessagesOfModuleAreThoseWithServers) {
  const TinyFolder folder;
  const auto messages = [&](const std::string& more) {
    return simulate(tiny_experiment(folder, kvstore(more, 1))).messages;
  };
  EXPECT_EQ(messages(R"(, "embedding": "module")"), 2 * 3 * 2);
  EXPECT_EQ(messages(""), 2 * 3 * 2 + 4 * 3 * 2 + 2 * 3 * 2);
}

// One forward segment, two backward and 3 keys of four operations: 15 for each of 1,000,000 GPUs,
// in up to 72 steps, at 16 events each: 1.7e10.
TEST(KvstoreRun, RefusesMoreNodesThanTenMinutesPlay) {
  const TinyFolder folder;
  Json config = Json::parse(kvstore(R"(, "embedding": "module")", 1));
  config["cluster"]["nodes"] = 500'000;
  const Experiment e = tiny_experiment(folder, config.dump());
  const std::string text = message_of<InputError>([&] { simulate(e); });
  EXPECT_NE(text.find("/cluster/nodes: about 2e+10 events to play, at most 1e+10; fewer nodes have "
                      "fewer, and so has an embedding {\"type\": \"async\"}"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace steptime
