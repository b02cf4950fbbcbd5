#include "sim/sweeps/point_runner.h"

#include "sim/core/error.h"
#include "sim/experiment/result_text.h"
#include "tests/support/messages.h"
#include "tests/support/swept.h"

#include <cstdint>
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
