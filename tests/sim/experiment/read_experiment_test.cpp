#include "sim/experiment/read_experiment.h"

#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/simulate.h"
#include "tests/support/tiny_experiment.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ReadExperiment, BuildsEveryPart) {
  const TinyFolder folder;
  const Experiment e = read_experiment(load_document(
      folder.experiment(R"({"run": {"steps": 3, "seed": 9}, "workload": {"dtype": "float16"}})"),
      {}));
  EXPECT_EQ(e.name, "tiny");
  EXPECT_EQ(e.workload->workload.trace.model, "tiny");
  // conv, fc.w, fc.b; conv and fc. 2 bytes each.
  ASSERT_EQ(e.workload->units(Granularity::kTensor).size(), 3U);
  ASSERT_EQ(e.workload->units(Granularity::kLayer).size(), 2U);
  EXPECT_EQ(e.workload->units(Granularity::kLayer)[0].bytes, Bytes{1'001'000 * 2});
  EXPECT_EQ(e.cluster->workers(), 4);
  EXPECT_EQ(e.collective->time(Bytes{1'000'000}), std::chrono::milliseconds(2));  // 1 ms + 1 ms
  EXPECT_EQ(e.schedule->granularity(), Granularity::kTensor);
  EXPECT_EQ(e.run->steps, 3);
  EXPECT_EQ(e.run->seed, 9);
}

// On one machine BytePS sends nothing to servers and adds up nothing on the host: what is left is a
// reduce-scatter and an all-gather, which a ring is. 4 GPUs, 100 MB: 6 steps of 25 MB at 1 GB/s; on
// two machines, and with ps-lite, servers are there.
TEST(ReadExperiment, BytePsAloneOnANodeHasNoServers) {
  const auto read = [](int nodes, const std::string& transport, const std::string& more = "") {
    return read_experiment(std::make_shared<Document>(Document{
        "x.json",
        Json::parse(fmt::format(
            R"({{"name": "x", "workload": {{"model": "resnet50", "device": "v100", "batch": 8}},
              "cluster": {{"nodes": {0}, "gpus_per_node": 4, "reduction": "1 ns/B",
                "network": {{"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"}},
                "intra_node": {{"type": "switch", "latency": "0 s", "bandwidth": "1 GB/s"}}}},
              "strategy": {{"transport": "{1}", "aggregation": {{"type": "hybrid", "clients": {0},
                "servers": 2, "collective": {{"type": "reduce-scatter"}},
                "spread": {{"type": "all-gather"}}}}{2}}}}})",
            nodes, transport, more))}));
  };
  for (const char* transport : {"byteps", "ps-lite-rdma"}) {
    const Experiment alone = read(1, transport);
    EXPECT_EQ(alone.aggregation->servers.count, 0) << transport;
    EXPECT_FALSE(alone.aggregation->spread) << transport;
    EXPECT_EQ(alone.collective->time(Bytes{100'000'000}), std::chrono::milliseconds(150));
    EXPECT_EQ(read(2, transport).aggregation->servers.count, 2) << transport;
  }
  EXPECT_EQ(read(1, "ps-lite").aggregation->servers.count, 2);
  // Asynchronous updates are made by servers, wherever these are.
  EXPECT_EQ(read(1, "byteps", R"(, "update": "asgd")").aggregation->servers.count, 2);
}

// The workload of a layout is one micro-batch, however many of them the batch of all replicas has.
TEST(ReadExperiment, OnlyTheLayoutDependsOnTheBatchOfAllReplicas) {
  for (const Part part : {Part::kWorkload, Part::kCutModel}) {
    EXPECT_FALSE(depends_on(part, "/workload/global_batch", true));
    EXPECT_TRUE(depends_on(part, "/workload/batch", true));
    EXPECT_TRUE(depends_on(part, "/workload", true));
    EXPECT_TRUE(depends_on(part, "/workload/global_batch"));  // which is refused without a layout
  }
  EXPECT_TRUE(depends_on(Part::kLayout, "/workload/global_batch"));
}

TEST(ReadExperiment, APartDependsOnItsSectionsOnly) {
  // Every section of an experiment belongs to a part, and some to two: a cluster gives the
  // collective its alpha, beta and gamma, and the transport and the update say what goes with it.
  // What is cut of a model is read once for all clusters that a layout is planned on. A network is
  // read once for all sizes of its cluster. Jobs are read from the whole of it, and everything is
  // another one where they are.
  std::map<std::string, int> readers;
  for (const Part part : kParts) {
    for (const std::string_view section : sections(part))
      ++readers[std::string(section)];
  }
  EXPECT_EQ(readers, (std::map<std::string, int>{{"/jobs", 10},
                                                 {"/workload", 4},
                                                 {"/strategy/stack", 7},
                                                 {"/cluster", 4},
                                                 {"/cluster/network", 1},
                                                 {"/cluster/preset", 1},
                                                 {"/strategy/aggregation", 3},
                                                 {"/strategy/update", 4},
                                                 {"/strategy/schedule", 3},
                                                 {"/strategy/embedding", 2},
                                                 {"/strategy/transport", 4},
                                                 {"/strategy/layout", 5},
                                                 {"/strategy/states", 4},
                                                 {"/strategy/pipeline_order", 3},
                                                 {"/strategy/recompute", 3},
                                                 {"/strategy/context_exchange", 3},
                                                 {"/strategy/beside_compute", 3},
                                                 {"/run", 2},
                                                 {"/run/fidelity", 1},
                                                 {"/run/variation", 1}}));
}

TEST(ReadExperiment, ReadsOnePartAnew) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  Experiment e = read_experiment(load_document(file, {}));
  const auto workload = e.workload;
  read_part(load_document(file, std::vector<std::string>{"/cluster/nodes=8"}), Part::kCluster, e);
  EXPECT_EQ(e.machines->nodes, 8);
  EXPECT_EQ(e.workload, workload);
}

TEST(Resolved, WritesTheStepsOfTheUpdateOut) {
  const TinyFolder folder;
  const auto steps = [&](const std::string& update) {
    const std::string file = folder.experiment(
        R"({"strategy": {"aggregation": {"type": "parameter-server", "servers": 1,
                         "collective": null}, "update": )" +
        update + "}}");
    return resolved(load_document(file, {})->root).at("run").at("steps");
  };
  EXPECT_EQ(steps(R"({"type": "sgd"})"), 1);
  EXPECT_EQ(steps(R"({"type": "asgd"})"), 20);
  EXPECT_EQ(steps(R"({"type": "esgd", "interval": 8})"), 8);
}

/// But for a transport, which would name a library (tests/sim/servers/tcp_connections_test.cpp).
TEST(Resolved, WritesEveryDefaultOut) {
  const TinyFolder folder;
  const Json config = resolved(
      load_document(folder.experiment(R"({"strategy": {"aggregation": {"collective": null}}})"), {})
          ->root);
  EXPECT_EQ(config, Json::parse(R"json({
    "name": "tiny",
    "workload": {"trace": "trace.json", "dtype": "float32", "rescale": "both", "accumulate": 1},
    "cluster": {"nodes": 4, "gpus_per_node": 1,
                "network": {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"},
                "reduction": "0 s/B",
                "messages": {"switching": "cut-through", "ports": "fair", "eager_limit": "0 B",
                             "eager_overhead": "0 s", "rendezvous_overhead": "0 s"}},
    "strategy": {"aggregation": {"type": "all-reduce",
                                 "collective": {"type": "ring", "startups": "2(N-1)"}},
                 "update": {"type": "sgd"},
                 "schedule": {"type": "wfbp", "granularity": "tensor"},
                 "embedding": {"type": "async"}},
    "run": {"fidelity": "analytic", "steps": 1, "seed": 1}
  })json"));
}

TEST(Resolved, IsAnExperimentThatGivesTheSameAgain) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"strategy": {"schedule": {"type": "fixed-buckets"}}, "run": {"seed": 3},
          "sweep": {"/cluster/nodes": [1, 2]}, "description": "d"})");
  const Json once = resolved(load_document(file, {})->root);
  folder.write("y.json", once.dump());
  const auto again = load_document(folder.path("y.json"), {});
  EXPECT_EQ(resolved(again->root), once);
  EXPECT_EQ(once.at("strategy").at("schedule").at("capacity"), "25 MiB");
  EXPECT_EQ(once.at("sweep"), Json::parse(R"({"/cluster/nodes": [1, 2]})"));
  const Experiment e = read_experiment(again);
  EXPECT_EQ(e.run->seed, 3);
}

/// A transformer on two nodes, with more keys of its strategy.
Json layout_with(const Json& strategy) {
  Json config = Json::parse(R"({
    "name": "x", "workload": {"model": "mpt-125m", "device": "a100", "batch": 1, "sequence": 64},
    "cluster": {"preset": "p5.48xlarge", "nodes": 2}, "strategy": {"layout": {}}})");
  config["strategy"].update(strategy);
  return config;
}
double step_of(const Json& config) {
  return simulate(read_experiment(std::make_shared<Document>(Document{"x.json", config})))
      .step_time_s;
}

// A default that stands where a key is left out does not stand beside the key that excludes it.
TEST(Resolved, WritesNoDefaultBesideAKeyThatExcludesIt) {
  const Json layers{{"type", "full"}, {"layers", Json::array({0})}};
  const Json once = resolved(layout_with({{"recompute", layers}}));
  EXPECT_EQ(once.at("strategy").at("recompute"), layers);
  EXPECT_EQ(resolved(once), once);
  EXPECT_EQ(step_of(once), step_of(layout_with({{"recompute", layers}})));
  const Json batch{{"model", "mpt-125m"}, {"device", "a100"}, {"batch", 1}, {"global_batch", 32}};
  Json of_all = layout_with(Json::object());
  of_all["workload"].update(batch);
  EXPECT_FALSE(resolved(of_all).at("workload").contains("accumulate"));
}

// The schedule that is left out is not written out when the transport's library brings its
// collective: the states of a layout say what a bucket is.
TEST(Resolved, ALibraryBringsItsCollectiveAndNothingElse) {
  const Json stated = layout_with({{"states", {{"type", "zero"}}}, {"transport", "nccl"}});
  const Json once = resolved(stated);
  EXPECT_EQ(once.at("strategy").at("aggregation").at("collective").at("type"), "nccl");
  EXPECT_FALSE(once.at("strategy").contains("schedule"));
  EXPECT_EQ(resolved(once), once);
  EXPECT_EQ(step_of(once), step_of(stated));
  // As with the same collective stated.
  EXPECT_EQ(
      step_of(stated),
      step_of(layout_with({{"states", {{"type", "zero"}}},
                           {"transport", "nccl"},
                           {"aggregation", {{"type", "all-reduce"}, {"collective", "nccl"}}}})));
}

TEST(Resolved, APresetOfTheVariationBringsItsNumbers) {
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({"run": {"variation": "typical"}})");
  const double spread = read_experiment(load_document(file, {})).run->variation.spread;
  EXPECT_GT(spread, 0);
  const Json once = resolved(load_document(file, {})->root);
  folder.write("y.json", once.dump());
  EXPECT_EQ(read_experiment(load_document(folder.path("y.json"), {})).run->variation.spread,
            spread);
  // A key of it can be set beside the preset.
  const std::vector<std::string> sets{"/run/variation/seeds=5"};
  const Experiment more = read_experiment(load_document(file, sets));
  EXPECT_EQ(more.run->variation.spread, spread);
  EXPECT_EQ(more.run->variation.seeds, 5);
}

TEST(Resolved, APresetBringsItsNumbers) {
  // A result says all that it depends on, so that it stands when a preset is corrected later.
  const TinyFolder folder;
  const std::string file =
      folder.experiment(R"({"cluster": {"preset": "k80-10gbe", "network": null}})");
  const Json cluster = resolved(load_document(file, {})->root).at("cluster");
  EXPECT_EQ(cluster.at("nodes"), 4);
  EXPECT_TRUE(cluster.contains("gpus_per_node")) << cluster;
  EXPECT_TRUE(cluster.contains("network")) << cluster;
  EXPECT_TRUE(cluster.contains("reduction")) << cluster;
}

// With one GPU a node, as is the default, there would be two workers.
TEST(Resolved, ADefaultDoesNotOverrideAPresetThatIsAFile) {
  const TinyFolder folder;
  folder.write("mine.json",
               R"({"format": "steptime-cluster", "version": 1, "help": "", "sources": {},
    "cluster": {"nodes": 2, "gpus_per_node": 2,
                "network": {"type": "switch", "latency": "1 ms", "bandwidth": "1 GB/s"},
                "intra_node": {"type": "switch", "latency": "1 ms", "bandwidth": "1 GB/s"}}})");
  const std::string file =
      folder.experiment(R"({"cluster": {"preset": "mine.json", "nodes": null, "network": null}})");
  const Json once = resolved(load_document(file, {})->root);
  folder.write("y.json", once.dump());
  EXPECT_EQ(read_experiment(load_document(folder.path("y.json"), {})).cluster->workers(), 2 * 2);
}

TEST(EmptyModel, WithoutLearnableLayersSendsNothing) {
  const TinyFolder folder;
  folder.patch_trace(R"({"layers": [{"name": "a", "forward_s": 0.25, "backward_s": 0.5}]})");
  for (const char* schedule :
       {"naive", "wfbp", "sync-easgd", "mg-wfbp", "optimal", "fixed-buckets"}) {
    const Outcome run =
        steptime({"run", folder.experiment(), "--format", "json", "--set",
                  std::string("/strategy/schedule={\"type\": \"") + schedule + "\"}"});
    ASSERT_EQ(run.exit, 0) << run.err;
    const Json json = Json::parse(run.out);
    EXPECT_EQ(json.at("messages"), 0) << schedule;
    EXPECT_EQ(json.at("buckets"), Json::array()) << schedule;
    EXPECT_EQ(json.at("step_time_s"), 0.75) << schedule;  // 0.25 + 0.5
    EXPECT_EQ(json.at("scaling_efficiency"), 1.0) << schedule;
  }
}

TEST(EmptyModel, WithoutComputeTimeHasNothingToScale) {
  // Twice the batch of no compute time is no compute time; the messages take 8.004 ms as before.
  const TinyFolder folder;
  folder.patch_trace(
      R"({"layers": [{"name": "a", "forward_s": 0, "backward_s": 0, "params": 1000}]})");
  const Outcome run =
      steptime({"run", folder.experiment(R"({"workload": {"batch": 64}})"), "--format", "json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(Json::parse(run.out).at("step_time_s"), 0.001004);  // 1 ms + 4000 B * 1 ns
}

}  // namespace
}  // namespace steptime
