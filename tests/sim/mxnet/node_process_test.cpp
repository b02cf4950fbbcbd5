// Do operations take the threads, the links and the time that they should?
#include "sim/mxnet/node_process.h"

#include "sim/core/error.h"
#include "sim/mxnet/updater.h"
#include "sim/network/machine.h"
#include "tests/support/push_pulls.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;

/// Two GPUs, 1 us + 1 ns/B between them; operations and pushes cost nothing unless `costs` says so.
struct Process {
  explicit Process(NodeProcess::Costs costs = {}, double reduction = 0, std::size_t keys = 1)
      : machine(pair_of_gpus(reduction), {.hosts = true}),
        ops(world, {world.connect(machine, {})}, pair_of_gpus(reduction), costs, no_updater(),
            keys) {}
  /// When a step is over.
  double us() {
    ops.begin_period();
    world.start({"main thread"}, ops.push([] {}));
    world.run();
    EXPECT_EQ(ops.pending(), 0U);
    return to_seconds(since_start(ops.end())) * 1e6;
  }
  World world;
  Machine machine;
  NodeProcess ops;
};

TEST(NodeProcess, NamesTheKeyOfAVariable) {
  Process p({}, 0, 3);
  EXPECT_EQ(p.ops.key_of(p.ops.gradient(2, 1)), 2);
  EXPECT_EQ(p.ops.key_of(p.ops.weight(0, 1)), 0);
  EXPECT_EQ(p.ops.key_of(p.ops.variable()), std::nullopt);
}

// A call of 45 us goes before the first operation that is said behind it, each of which takes 2 us
// to push; the second step of a period is number 1.
TEST(NodeProcess, SaysWhatTheMainThreadNeedsForEach) {
  Process p({.engine_push = microseconds(2)});
  p.ops.call(microseconds(45));
  p.ops.compute(0, microseconds(100), Reason{}, {}, {p.ops.variable()});
  p.ops.begin_step();
  p.ops.wait({p.ops.variable()});
  ASSERT_EQ(p.ops.operations(), 2U);
  EXPECT_EQ(p.ops.operation(0).call, microseconds(47));
  EXPECT_EQ(p.ops.operation(1).call, microseconds(2));
  EXPECT_EQ(p.ops.operation(1).step, 1);
}

// A main thread that waits once more than it has said. Module's (module_step.cpp) waits for one
// that it has pushed, and cannot wait for ever: an operation waits for variables of operations
// pushed before it, and for threads, all of which do what ends by itself.
TEST(NodeProcess, AMainThreadThatWaitsForNothingIsTold) {
  Process p;
  const auto main_thread = [](NodeProcess& ops, Ops::Variable sum) -> Task {
    ops.begin_period();
    co_await ops.push([&] {
      ops.compute(0, microseconds(100), Reason{}, {}, {sum});
      ops.wait({sum});
    });
    co_await ops.waited();
    co_await ops.waited();
  };
  p.world.start({"main thread"}, main_thread(p.ops, p.ops.variable()));
  p.world.run();
  try {
    p.world.expect_over();
    FAIL();
  } catch (const ModelFailure& e) {
    EXPECT_STREQ(e.what(),
                 "deadlock after 0.0001 s: nothing happens any more, but\n"
                 "  main thread waits for waits of the main thread: has 1 of 2");
  }
}

TEST(NodeProcess, CopiesTakeLinksOrMemory) {
  Process between;
  between.ops.copy(0, 1, 1'000'000, between.ops.variable(), between.ops.variable());
  EXPECT_NEAR(between.us(), 1001, 1e-6);
  // 0.3 ns/B are three accesses, a copy is two.
  Process inside({}, 0.3e-9);
  inside.ops.copy(0, 0, 1'000'000, inside.ops.variable(), inside.ops.variable());
  EXPECT_NEAR(inside.us(), 200, 1e-6);
}

TEST(NodeProcess, CopiesOfAGpuWaitForItsThreads) {
  for (const auto& [threads, expected] : {std::pair(1, 3 * 200.0), std::pair(2, 2 * 200.0)}) {
    Process p({.copy_threads = threads}, 0.3e-9);
    for (int i = 0; i < 3; ++i)
      p.ops.copy(1, 1, 1'000'000, p.ops.variable(), p.ops.variable());
    EXPECT_NEAR(p.us(), expected, 1e-6);
  }
}

TEST(NodeProcess, SumsOfUpToFourArraysAreOneKernel) {
  // 100 us for each access of the array: N + 1 of them up to four arrays; of five and more a copy,
  // 2, and N - 1 additions in place, 3 each.
  for (const auto& [arrays, accesses] :
       {std::pair(2, 3), {3, 4}, {4, 5}, {5, 14}, {8, 23}, {16, 47}}) {
    Process gpu({.gpu_operation = microseconds(15)}, 0.3e-9);
    gpu.ops.sum(1, arrays, 1'000'000, {gpu.ops.variable()}, {gpu.ops.variable()});
    EXPECT_NEAR(gpu.us(), 15 + accesses * 100, 1e-6) << arrays;
  }
  Process host({.gpu_operation = microseconds(15)}, 0.3e-9);
  host.ops.sum(NodeProcess::kHost, 8, 1'000'000, {host.ops.variable()}, {host.ops.variable()});
  EXPECT_NEAR(host.us(), 7 * 300, 1e-6);
}

TEST(NodeProcess, SumsOfAGpuKnowNoPriority) {
  // GPU 0's two threads are taken until 100 and 400. Of the two sums that wait the one that was
  // ready first goes first, 100 to 400, although its key comes last, then the other, 400 to 700.
  // By priority the reader of the first would end at 701.
  Process p({}, 0.3e-9);
  const auto first = p.ops.variable();
  const auto second = p.ops.variable();
  for (int i = 0; i < 2; ++i)
    p.ops.compute(0, microseconds(100 + 300 * i), Reason{}, {}, {p.ops.variable()});
  p.ops.set_priority(-9);
  p.ops.sum(0, 2, 1'000'000, {}, {first});
  p.ops.set_priority(0);
  p.ops.sum(0, 2, 1'000'000, {}, {second});
  p.ops.compute(1, microseconds(1), Reason{}, {first}, {p.ops.variable()});
  EXPECT_NEAR(p.us(), 700, 1e-6);
}

TEST(NodeProcess, KernelsFollowOneAnotherOnTheStream) {
  // Launched at 10 and, as the mutex is free again, at 20; the second begins when the first is
  // over.
  Process p;
  for (int i = 0; i < 2; ++i)
    p.ops.kernel(microseconds(10), microseconds(100), {p.ops.variable()}, {p.ops.variable()});
  EXPECT_NEAR(p.us(), 10 + 2 * 100, 1e-6);
}

TEST(NodeProcess, KernelsFollowOneAnother) {
  // As above: the way back goes through both kernels to the first launch.
  Causes causes;
  World world(&causes);
  const Machine machine(pair_of_gpus());
  NodeProcess ops(world, {world.connect(machine, {})}, pair_of_gpus(), {}, no_updater(), 1);
  for (int i = 0; i < 2; ++i)
    ops.kernel(microseconds(10), microseconds(100), {ops.variable()}, {ops.variable()});
  ops.begin_period();
  world.start({"main thread"}, ops.push([] {}));
  world.run();
  const auto spent = causes.attribution({world.present()}, 1);
  ASSERT_EQ(spent.size(), 2U);
  EXPECT_EQ(spent[0].cause, "collectives");
  EXPECT_EQ(spent[0].resource, "NCCL kernels");
  EXPECT_NEAR(spent[0].seconds, 200e-6, 1e-12);
  EXPECT_EQ(spent[1].cause, "launches of NCCL");
  EXPECT_NEAR(spent[1].seconds, 10e-6, 1e-12);
}

TEST(NodeProcess, TheMainThreadPushesOneAfterTheOther) {
  Process p({.engine_push = microseconds(2)});
  p.ops.call(microseconds(45));
  p.ops.compute(0, microseconds(100), Reason{}, {}, {p.ops.variable()});
  p.ops.compute(1, microseconds(100), Reason{}, {}, {p.ops.variable()});
  EXPECT_NEAR(p.us(), 149, 1e-6);
}

TEST(NodeProcess, AnUpdateOnAGpuIsLaunched) {
  for (const auto& [gpu, expected] : {std::pair(1, 15 + 5), {NodeProcess::kHost, 5}}) {
    Process p({.gpu_operation = microseconds(15), .update = microseconds(5)});
    p.ops.update(gpu, {}, p.ops.variable());
    EXPECT_NEAR(p.us(), expected, 1e-6);
  }
}

TEST(NodeProcess, EveryStepPushesTheSame) {
  // The main thread begins the next step 10 us after what it waits for, 100 us. Nobody waits for
  // the optimizer, of which three are left then.
  Process p({.update = microseconds(1000)});
  std::vector<std::int64_t> waited;  // us
  const auto computed = p.ops.variable();
  const auto weights = p.ops.variable();
  const auto main_thread = [&]() -> Task {
    for (int step = 0; step < 3; ++step) {
      p.ops.begin_period();
      co_await p.ops.push([&] {
        p.ops.update(NodeProcess::kHost, {}, weights);
        p.ops.compute(0, microseconds(100), Reason{}, {}, {computed});
        p.ops.wait({computed});
      });
      co_await p.ops.waited();
      waited.push_back(since_start(p.world.now()) / microseconds(1));
      co_await p.world.pause(microseconds(10), {});
    }
  };
  p.world.start({"main thread"}, main_thread());
  p.world.run();
  EXPECT_EQ(waited, (std::vector<std::int64_t>{100, 210, 320}));
  EXPECT_EQ(p.ops.end(), Time(microseconds(3000)));
  EXPECT_EQ(p.ops.pending(), 0U);
}

TEST(NodeProcess, StepsMayDiffer) {
  // Steps of 100 us and of 100 us + 40 us in turn.
  struct Steps final : NodeProcess {
    Steps(World& world, Network& network)
        : NodeProcess(world, {network}, pair_of_gpus(), {}, no_updater(), 1) {}
    std::vector<std::int64_t> over;  ///< us
    void has_ended(OperationId id) override {
      if (operation(id).kind != Kind::kWait) return;
      EXPECT_EQ(label(id), 7U);
      EXPECT_EQ(step(id), static_cast<std::int64_t>(over.size()));
      over.push_back(since_start(world_.now()) / microseconds(1));
    }
    Task main_thread(Variable computed) {
      set_label(7);
      for (int step = 0; step < 5; ++step) {
        step % 2 == 0 ? begin_period() : begin_step();
        for (int i = 0; i <= step % 2; ++i)
          co_await push(
              [&] { compute(0, microseconds(i == 0 ? 100 : 40), Reason{}, {}, {computed}); });
        co_await push([&] { wait({computed}); });
        co_await waited();
      }
    }
  };
  World world;
  const Machine machine(pair_of_gpus());
  Steps steps(world, world.connect(machine, {}));
  world.start({"main thread"}, steps.main_thread(steps.variable()));
  world.run();
  EXPECT_EQ(steps.over, (std::vector<std::int64_t>{100, 240, 340, 480, 580}));
  EXPECT_EQ(steps.pending(), 0U);
}

TEST(NodeProcess, GpusVaryInWhatTheyCompute) {
  const Variation variation{.jitter = 0.2};
  Process p({.variation = variation, .seed = 3});
  p.ops.compute(1, microseconds(100), Reason{}, {}, {p.ops.variable()});
  EXPECT_NEAR(p.us(), 100 * variation.factor(3, 1, 0), 1e-6);
}

// The second of two nodes draws as workers 2 and 3, and copies between their endpoints.
TEST(NodeProcess, IsOneOfSeveralNodes) {
  Cluster cluster = pair_of_gpus();
  cluster.nodes = 2;
  const Variation variation{.jitter = 0.2};
  World world;
  const Machine machine(cluster, {.hosts = true});
  Network& network = world.connect(machine, {});
  NodeProcess ops(world, {network, 1}, cluster, {.variation = variation, .seed = 3}, no_updater(),
                  1);
  ops.compute(1, microseconds(100), Reason{}, {}, {ops.variable()});
  ops.copy(0, NodeProcess::kHost, 1'000'000, ops.variable(), ops.variable());
  ops.begin_period();
  world.start({"main thread"}, ops.push([] {}));
  world.run();
  EXPECT_NEAR(to_seconds(since_start(ops.end())) * 1e6,
              std::max(100 * variation.factor(3, 3, 0), 1001.0), 1e-6);
  std::vector<ChannelId> path;
  machine.route(2, 5, path);  // from its first GPU to its host, the fifth and sixth endpoints
  for (const ChannelId channel : path)
    EXPECT_EQ(network.carried(channel), 1'000'000) << channel;
}

}  // namespace
}  // namespace steptime
