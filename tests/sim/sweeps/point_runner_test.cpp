#include "sim/sweeps/point_runner.h"

#include "sim/core/error.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "tests/support/messages.h"
#include "tests/support/swept.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(PointRunner, SharesThePartsThatDoNotChange) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/run/seed": [1, 2], "/cluster/nodes": [2, 4]})");
  PointRunner runner(sweep);
  runner.run(0);
  const Experiment first = runner.experiment();
  runner.run(3);  // seed 2, 4 nodes
  EXPECT_EQ(runner.experiment().workload, first.workload);
  EXPECT_EQ(runner.experiment().schedule, first.schedule);
  EXPECT_NE(runner.experiment().cluster, first.cluster);
  EXPECT_NE(runner.experiment().collective, first.collective);
  EXPECT_EQ(runner.experiment().cluster->nodes, 4);
  EXPECT_EQ(runner.experiment().run->seed, 2);
  EXPECT_EQ(runner.config().at("cluster").at("nodes"), 4);
  EXPECT_FALSE(runner.config().contains("sweep"));
  runner.run(2);  // 2 nodes again: built before
  EXPECT_EQ(runner.experiment().cluster, first.cluster);
}

TEST(PointRunner, AnyOrderOfPointsGivesTheSame) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(
      folder,
      R"({"/strategy/schedule": [{"type": "wfbp"}, {"type": "naive", "granularity": "layer"}],
                  "/cluster/nodes": [1, 2, 4], "/workload/batch": [32, 64]})");
  ASSERT_EQ(sweep.points(), 12);
  PointRunner up(sweep), down(sweep);
  std::vector<std::uint64_t> forwards(12), backwards(12);
  for (std::int64_t p = 0; p < 12; ++p)
    forwards[static_cast<std::size_t>(p)] = up.run(p).fingerprint;
  for (std::int64_t p = 12; p-- > 0;)
    backwards[static_cast<std::size_t>(p)] = down.run(p).fingerprint;
  EXPECT_EQ(forwards, backwards);
}

TEST(PointRunner, APartThatWasBuiltBeforeComesBackWhole) {
  // What is read a second time was built the first time.
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/strategy/transport/streams": [1, 2, 1]})");
  PointRunner runner(sweep);
  for (std::int64_t point = 0; point < 3; ++point)
    EXPECT_EQ(runner.read(point).transport->streams, point == 1 ? 2 : 1);
  EXPECT_EQ(runner.read(0).transport->streams, 1);
  EXPECT_EQ(runner.read(1).transport->streams, 2);
  // And with it what its predictions are worth: a single node is a kind of its own.
  const Sweep nodes = sweep_of(folder, R"({"/run/seed": [1, 2], "/cluster/nodes": [1, 2]})");
  PointRunner inner(nodes);
  for (std::int64_t point = 0; point < 4; ++point)
    EXPECT_EQ((*inner.read(point).exchange_kind)[Attribute::kNodes] == "one", point % 2 == 0)
        << point;
}

// Two connections of 5 Gbit/s to a node, of the 25 that the network has: NCCL's, as no library is
// named. What the first point makes of the network is not what the second one begins with.
TEST(PointRunner, ConnectionsOfOneLibraryAreCountedOnce) {
  const TinyFolder folder;
  const Sweep sweep(load_document(folder.experiment(R"({
    "cluster": {"network": {"type": "tcp", "latency": "20 us", "bandwidth": "25 Gbps",
                            "connection": "5 Gbps", "host": "20 Gbps"}},
    "sweep": {"/strategy/schedule": ["wfbp", "naive", "wfbp"]}})"),
                                  {}));
  PointRunner runner(sweep);
  for (std::int64_t point = 0; point < 3; ++point)
    EXPECT_EQ(runner.read(point).cluster->network.bandwidth.bytes_per_second, 10e9 / 8) << point;
}

// At the last point two keys are wrong. The workload's part, which says so of the order of a
// pipeline, was read before; the network's, which comes behind it in a config, is read anew.
TEST(PointRunner, TellsTheMistakeThatTheConfigAloneTells) {
  const TinyFolder folder;
  const Sweep sweep(load_document(folder.experiment(R"({
    "sweep": {"/cluster/network": ["10gbe", null], "/strategy/pipeline_order": [null, "gpipe"]}})"),
                                  {}));
  PointRunner runner(sweep);
  for (std::int64_t point = 0; point < 4; ++point) {
    std::string in_the_sweep, alone;
    try {
      (void)runner.read(point);
    } catch (const InputError& e) {
      in_the_sweep = e.what();
    }
    try {
      (void)read_experiment(
          std::make_shared<Document>(Document{folder.path("x.json"), runner.config()}));
    } catch (const InputError& e) {
      alone = e.what();
    }
    EXPECT_EQ(in_the_sweep, alone) << point;
    EXPECT_EQ(alone.empty(), point == 0) << alone;
  }
}

// All that is told of a point, with what such predictions are worth, is that of a runner that has
// run nothing before.
TEST(PointRunner, APointOfALayoutIsThatOfAFreshRunner) {
  const TinyFolder folder;
  folder.write("x.json", R"({
    "name": "x",
    "workload": {"model": "mpt-125m", "device": "a100", "batch": 1, "sequence": 64,
                 "global_batch": 32},
    "cluster": {"preset": "dgx-a100", "nodes": 1, "gpus_per_node": 8},
    "strategy": {"layout": {"tensor": 1}},
    "sweep": {"/strategy/states": ["replicated", "zero"],
              "/strategy/layout/tensor": [1, 2], "/strategy/layout/pipeline": [1, 2],
              "/strategy/pipeline_order": ["gpipe", "1f1b"], "/strategy/recompute": ["none", "full"],
              "/strategy/stack": ["megatron-core", "megatron-2021"],
              "/workload/precision": ["float16", "bfloat16"], "/cluster/nodes": [1, 2]}})");
  const Sweep sweep(load_document(folder.path("x.json"), {}));
  ASSERT_EQ(sweep.points(), 256);
  const auto told = [](PointRunner& runner, std::int64_t point) {
    std::string text;
    append_json(text, runner.run(point));
    return text;
  };
  PointRunner runner(sweep);
  for (std::int64_t point = 0; point < sweep.points(); ++point) {
    const std::string text = told(runner, point);
    PointRunner fresh(sweep);
    if (point % 3 == 0) {
      EXPECT_EQ(text, told(fresh, point)) << point;
    }
  }
}

/// Of WFBP the tiny step takes 44 ms; "null" is the default, which it is.
TEST(PointRunner, NullTakesAKeyOut) {
  const TinyFolder folder;
  const Sweep sweep =
      sweep_of(folder, R"({"/strategy/schedule": [{"type": "naive"}, null, {"type": "naive"}, null],
                  "/cluster/network/latency": ["10 us", null]})");
  PointRunner runner(sweep);
  const auto step = [&](std::int64_t point) { return runner.run(point).step_time_s; };
  const double naive = step(0);  // 42 ms, then 2 + 5 + 1.004 of messages
  EXPECT_NEAR(naive, 0.050004, 1e-12);
  EXPECT_TRUE(runner.config().at("strategy").contains("schedule"));
  EXPECT_NEAR(step(2), 0.044, 1e-12);
  EXPECT_FALSE(runner.config().at("strategy").contains("schedule"));
  EXPECT_EQ(step(4), naive);
  EXPECT_EQ(message_of<InputError>([&] { runner.run(3); }),
            folder.path("x.json: /cluster/network/latency: required but missing"));
  std::string row;
  sweep.append_params(row, 2);
  EXPECT_EQ(row, R"("/strategy/schedule":null,"/cluster/network/latency":"10 us")");
}

/// What a config says of a fabric is read again for each number of ports that a run needs, here
/// that of the jobs and that of each job alone.
TEST(PointRunner, NullTakesAllJobsOut) {
  const TinyFolder folder;
  const Sweep sweep(
      load_document(folder.experiment(R"({"cluster": {"fabric": {"type": "graph", "vertices": [
            {"name": "leaf0", "ports": 2}, {"name": "leaf1", "ports": 2}],
            "links": [{"ends": ["leaf0", "leaf1"], "latency": "1 us", "bandwidth": "1 GB/s"}]}},
        "strategy": {"aggregation": {"type": "all-reduce", "collective": "ring"}},
        "jobs": [{"nodes": [0, 2]}, {"nodes": [1, 3]}], "run": {"fidelity": "message", "steps": 1},
        "sweep": {"/jobs": [null, [{"nodes": [0, 2]}, {"nodes": [1, 3]}], null]}})"),
                    {}));
  PointRunner runner(sweep);
  const Result alone = runner.run(0);
  EXPECT_EQ(alone.workers, 4);
  EXPECT_TRUE(alone.jobs.empty());
  EXPECT_EQ(runner.run(1).jobs.size(), 2U);
  EXPECT_EQ(runner.run(2).fingerprint, alone.fingerprint);
}

/// Of three adapters the first and the last are taken out, or one of them, whatever comes first.
TEST(PointRunner, NullTakesElementsOfAListOut) {
  const TinyFolder folder;
  const Sweep sweep(load_document(folder.experiment(R"({
        "strategy": {"aggregation": {"collective": "ring"}},
        "run": {"fidelity": "message", "slow_links": {"adapters": [
          {"node": 0, "factor": 2}, {"node": 1, "factor": 3}, {"node": 2, "factor": 4}]}},
        "sweep": {"/run/slow_links/adapters/0": [null, {"node": 3, "factor": 5}],
                  "/run/slow_links/adapters/2": [null, {"node": 3, "factor": 6}],
                  "/run/slow_links/adapters/1/factor": [7]}})"),
                                  {}));
  PointRunner runner(sweep);
  const auto factors = [&](std::int64_t point) {
    runner.read(point);
    std::string text;
    for (const Json& adapter : runner.config().at("run").at("slow_links").at("adapters"))
      text += adapter.at("factor").dump();
    return text;
  };
  EXPECT_EQ(factors(0), "7");
  EXPECT_EQ(factors(1), "76");
  EXPECT_EQ(factors(2), "57");
  EXPECT_EQ(factors(0), "7");
}

TEST(PointRunner, APointThatFailsDoesNotSpoilTheNext) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/cluster/nodes": [4, 0, 4]})");
  PointRunner runner(sweep);
  const std::uint64_t good = runner.run(0).fingerprint;
  EXPECT_EQ(message_of<InputError>([&] { runner.run(1); }),
            folder.path("x.json: /cluster/nodes: must be at least 1 and at most 10000000, got 0"));
  EXPECT_EQ(runner.run(2).fingerprint, good);
}

}  // namespace
}  // namespace steptime
