// Is a kvstore's merge played where it should be, and everything that it does not go with refused?
#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Of two GPUs with 1 GB/s between them; the step computes 42 ms.
std::string two_gpus(const std::string& merge, const std::string& more_of_strategy = "",
                     const std::string& more_of_kvstore = "", const std::string& run = "{}") {
  return R"({"cluster": {"nodes": 1, "gpus_per_node": 2,
                         "intra_node": {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
             "run": )" +
         run + R"(, "strategy": {"aggregation": {"type": "kvstore", "collective": null,
                                     "a": null, "b": null, "merge": ")" +
         merge + '"' + more_of_kvstore + "}" + more_of_strategy + "}}";
}

constexpr const char* kFree = R"(, "embedding": {"type": "module", "python_call": "0 s",
                                    "engine_push": "0 s", "wake_up": "0 s", "gpu_operation": "0 s"})";

double step_ms(const std::string& patch) {
  const TinyFolder folder;
  return simulate(tiny_experiment(folder, patch)).step_time_s * 1e3;
}

TEST(Module, PlaysAnyMerge) {
  // The key of conv, 1 MB, is there at the end of the step; it goes to the other GPU and back, and
  // the next forward pass begins with it: 2 * (0.01 + 1) ms. What came before it, fc's 4.004 MB,
  // has gone and come back in 22 ms of backward pass. Both ways of conv fall on links that are
  // idle.
  for (const char* merge : {"device", "tree"})
    EXPECT_NEAR(step_ms(two_gpus(merge, kFree)), 42 + 2.02, 1e-6) << merge;
  // The host has one port, over which both come and go: 4 ms, and a latency each way.
  EXPECT_NEAR(step_ms(two_gpus("local", kFree)), 42 + 4.02, 1e-6);
}

// One GPU has no kvstore. The step computes 42 ms, and is over when conv's key is updated: fc's,
// which came before it, has been. The main thread, which pushes ahead, takes no time.
TEST(Module, CallsTheOptimizerAloneWithOneGpu) {
  const auto one_gpu = [](const std::string& embedding) {
    return step_ms(R"({"cluster": {"nodes": 1, "gpus_per_node": 1}, "strategy": {"aggregation":
                       {"type": "kvstore", "collective": null, "a": null, "b": null},
                       "embedding": )" +
                   embedding + "}}");
  };
  const std::string free = R"({"type": "module", "python_call": "0 s", "engine_push": "0 s",
                               "wake_up": "0 s", "gpu_operation": "0 s")";
  EXPECT_NEAR(one_gpu(free + "}"), 42, 1e-9);
  EXPECT_NEAR(one_gpu(free + R"(, "update": "3 ms"})"), 42 + 3, 1e-9);
  EXPECT_NEAR(one_gpu(R"("async")"), 42, 1e-9);
}

TEST(Module, IsWhatPlaysTreesWithoutAFramework) {
  for (const char* run : {"{}", R"({"fidelity": "message"})"}) {
    EXPECT_NEAR(step_ms(two_gpus("tree", "", R"(, "priority": "first-key")", run)), 42 + 2.02, 1e-6)
        << run;
  }
}

TEST(Module, TakesAnySchedulePlannedBeforehand) {
  // All 5.004 MB at once, after the backward pass.
  EXPECT_NEAR(step_ms(two_gpus("tree", R"(, "schedule": {"type": "sync-easgd"})")), 42 + 2 * 5.014,
              1e-6);
  for (const char* schedule : {"naive", "mg-wfbp", "optimal", "fixed-buckets"}) {
    EXPECT_GT(
        step_ms(two_gpus("tree", R"(, "schedule": {"type": ")" + std::string(schedule) + "\"}")),
        44)
        << schedule;
  }
}

TEST(Module, SaysWhatLinksCarry) {
  // Each key goes to one GPU and back to the other. fc.w, 4 MB, is merged on GPU 0, conv and fc.b,
  // 1.004 MB, on GPU 1: GPU 1 sends 4 MB up and 1.004 MB back.
  const TinyFolder folder;
  std::vector<SentBucket> buckets;
  const Result result = simulate(tiny_experiment(folder, two_gpus("device", kFree)), &buckets);
  ASSERT_EQ(result.links.size(), 4U);
  for (const LinkUse& link : result.links) {
    EXPECT_EQ(link.bytes, 5'004'000);
    // Over the whole run, which begins with steps that do not wait yet.
    EXPECT_NEAR(link.busy, 5.004e6 / 1e9 / result.step_time_s, 0.01);
  }
}

std::string error_of(const std::string& patch) {
  const TinyFolder folder;
  const std::string message = message_of<InputError>([&] { tiny_experiment(folder, patch); });
  const std::string file = folder.path("x.json") + ": ";
  return message.starts_with(file) ? message.substr(file.size()) : message;
}

TEST(Module, RefusesWhatItDoesNotGoWith) {
  EXPECT_EQ(error_of(R"({"strategy": {"embedding": {"type": "module"}}})"),
            "/strategy/embedding: drives a kvstore; elsewhere expected {\"type\": \"async\"}");
  EXPECT_EQ(error_of(R"({"cluster": {"nodes": 1}, "strategy": {"embedding": {"type": "module"},
                         "aggregation": {"type": "hybrid", "clients": 1, "servers": 0}}})"),
            "/strategy/embedding: drives a kvstore; elsewhere expected {\"type\": \"async\"}");
  EXPECT_EQ(error_of(two_gpus("tree", "", R"(, "servers": 2)")),
            "/strategy/aggregation/merge: adds up on one node without servers, got 2 of them; with "
            "servers "
            "expected device or local");
  EXPECT_EQ(error_of(two_gpus("tree", R"(, "embedding": {"type": "funnel"})")),
            "/strategy/embedding: issues all-reduces, but a kvstore merges by operations of its "
            "own; expected {\"type\": \"module\"} or {\"type\": \"async\"}");
  EXPECT_EQ(
      error_of(two_gpus("device", R"(, "embedding": {"type": "funnel"})", R"(, "servers": 1)")),
      "/strategy/embedding: issues all-reduces, but a kvstore merges by operations of its "
      "own; expected {\"type\": \"module\"} or {\"type\": \"async\"}");
  EXPECT_EQ(
      error_of(two_gpus("device", kFree, R"(, "issue_time": "1 us")")),
      "/strategy/aggregation/issue_time: is python_call of the embedding, as updater_time is; "
      "expected 0 s");
  EXPECT_EQ(error_of(two_gpus("tree", kFree + std::string(R"(, "update": {"type": "local-sgd",
                                                                    "interval": 2})"))),
            "/strategy/update: sends parameters, but the module's optimizer is on the kvstore, "
            "which adds "
            "up gradients; expected sgd, with servers also asgd, or an embedding {\"type\": "
            "\"async\"}");
  EXPECT_EQ(error_of(two_gpus("tree", R"(, "schedule": {"type": "priority"})")),
            "/strategy/schedule: decides while the step runs, but this kvstore takes keys as its "
            "engine does; expected one that plans beforehand");
  EXPECT_EQ(error_of(two_gpus("tree", R"(, "transport": {"type": "mpi", "streams": 2})")),
            "/strategy/transport: has several streams, which a kvstore has not; expected 1");
  EXPECT_EQ(error_of(two_gpus("tree", R"(, "transport": {"type": "horovod-mpi"})")),
            "/strategy/transport: has a coordinator, which a kvstore has not; expected {\"type\": "
            "\"none\"} under \"coordinator\"");
}

}  // namespace
}  // namespace steptime
