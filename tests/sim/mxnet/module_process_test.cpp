// What the main thread of a node does step by step.
#include "sim/mxnet/module_process.h"

#include "sim/network/machine.h"
#include "tests/support/embedded.h"
#include "tests/support/push_pulls.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Two GPUs of each node train a layer of 1 MB, which takes 1.001 s between them.
struct Scene {
  Cluster cluster;
  Aggregation aggregation;
  std::shared_ptr<Update> update = make<Update>(R"({"type": "sgd"})");
  Embedding embedding{MxnetSettings{.python_call = milliseconds(10)}};
  TrainingGraph graph;
  ModuleRun run{cluster, aggregation, *update, embedding};
  World world;

  explicit Scene(std::int64_t nodes = 1) : cluster(pair_of_gpus()) {
    cluster.nodes = nodes;
    cluster.intra_node = {milliseconds(1), {1e6}};
    aggregation.merge = Merges::instance().make_default("device", cluster);
    aggregation.servers = {.count = 2,
                           .sharding = Shardings::instance().make_default("greedy"),
                           .copies = {.threads = 2, .first_key_first = true}};
    const std::vector<LayerTimes> times{{seconds(1), seconds(2)}};
    Workload workload = layers_of(times);
    workload.trace.layers.front().tensors.front().params = 1'000'000;
    const auto schedule = make<Schedule>(R"({"type": "wfbp"})");
    const auto units = workload.units(schedule->granularity());
    const LinearCollective nothing(LinearCost{});
    graph = training_graph(
        plan_step(workload, units, schedule->plan(units, nothing), nothing, cluster.workers()),
        workload, units, {}, 15);
  }
  /// Ends of so many steps.
  std::vector<Duration> play(std::int64_t steps) {
    const Machine machine(cluster);
    InputPipeline input;
    RankRecord record(world.engine, graph, std::nullopt, nullptr);
    FirstSteps first(world.engine, steps);
    const ModuleProcess::Shared shared{world,        graph, run,    world.connect(machine, {}),
                                       no_updater(), input, record, first};
    std::deque<ModuleProcess> nodes;
    for (std::int64_t node = 0; node < cluster.nodes; ++node) {
      nodes.emplace_back(shared, node);
      world.start({"main thread", node}, nodes.back().main_thread());
    }
    world.run();
    world.expect_over();
    for (const ModuleProcess& node : nodes) {
      EXPECT_EQ(node.pending(), 0U);
      EXPECT_EQ(node.steps(), steps);
    }
    return first.ends();
  }
};

// Calls of 10 ms: forward and backward of each GPU; GPU 1's forward pass begins at 20 ms, and ends
// at 1.020 s, its backward pass at 3.020. By then the main thread has pushed all. GPU 0 adds up:
// GPU 1's copy is there at 4.021, the sum, which costs nothing, is back at 5.022.
TEST(ModuleProcess, AStepEndsWithItsLastOperation) {
  const auto ends = Scene().play(1);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0], milliseconds(20 + 3000) + 2 * milliseconds(1001));
}

// update_metric waits for the forward passes, so the main thread is ahead by a backward pass and
// more: of the next step nothing is held up but GPU 1's forward pass, by its weights.
TEST(ModuleProcess, TheNextForwardPassWaitsForItsWeights) {
  const auto ends = Scene().play(3);
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_EQ(ends[1] - ends[0], seconds(3) + 2 * milliseconds(1001));
  EXPECT_EQ(ends[2] - ends[1], seconds(3) + 2 * milliseconds(1001));
}

// A call for each GPU's passes, for the push, for the pull, and update_metric.
TEST(ModuleProcess, TheMainThreadIsDrawn) {
  Timeline timeline;
  Scene scene;
  scene.run.timeline = &timeline;
  scene.play(1);
  std::map<std::string, std::size_t> spans;
  for (const Timeline::Span& span : timeline.spans())
    ++spans[timeline.tracks()[span.track].name];
  EXPECT_EQ(spans["main thread"], 7U);
  EXPECT_EQ(spans["compute"], 4U);
}

// Nodes that meet nowhere do the same.
TEST(ModuleProcess, EveryNodeHasItsOwnGpusAndLinks) {
  EXPECT_EQ(Scene(3).play(2), Scene().play(2));
}

}  // namespace
}  // namespace steptime
