// Does a rank charge its main thread, and does its engine hold back what it must?
#include "sim/mxnet/mpi_rank.h"

#include "sim/mxnet/communicators.h"
#include "tests/support/embedded.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct OneRank {
  std::vector<LayerTimes> times{{kSecond, kSecond}, {kSecond, kSecond}};
  Workload workload = layers_of(times);
  MxnetSettings settings{.copy_bandwidth = {1e30}};
  Variation variation{};
  std::unique_ptr<const Update> update = make<Update>(R"({"type": "sgd"})");
  Duration each_batch{};
  World world;
  Engine& clock = world.engine;

  /// Runs the program on one rank; each all-reduce costs 1 s.
  template <class Body>
  void run(Body main_thread) {
    const LinearCollective collective = line(kSecond, {});
    const auto units = workload.units(Granularity::kTensor);
    const StepPlan plan = plan_step(workload, units, {.sizes = {1, 1}}, collective, 2);
    const TrainingGraph graph =
        training_graph(plan, workload, units, collective.startup(), settings.bulk);
    RankRecord recorder(clock, graph, std::nullopt);
    const InputPipeline input(each_batch);
    Communicators mpi(world, graph, {}, 1, 1, recorder);
    RankOps operations(graph, settings);
    const EngineReasons reasons(clock);
    MpiRank worker({clock, graph, settings, operations, mpi, recorder, recorder, input, reasons,
                    RandomStream(1, Purpose::kTest), variation, *update},
                   0, nullptr);
    world.start({"main thread"}, main_thread(*this, worker));
    clock.run();
    EXPECT_TRUE(world.stuck().empty());
  }
  double now() const { return to_seconds(since_start(clock.now())); }
};

// Pushing three segments (one forward, two backward) and the call itself.
TEST(MpiRank, ChargesCallsAndPushes) {
  OneRank rank;
  rank.settings.python_call = 10 * kSecond;
  rank.settings.engine_push = kSecond;
  rank.run([](OneRank& r, MpiRank& worker) -> Task {
    const bool goes_on = co_await worker.next_batch();
    EXPECT_TRUE(goes_on);
    co_await worker.forward_backward();
    EXPECT_EQ(r.now(), 13);
    co_await worker.copy_to_host(0);
    EXPECT_EQ(r.now(), 14);
  });
}

// The samples of the second step are there after 30 s, when the main thread has to wake up.
TEST(MpiRank, WaitsForItsSamples) {
  OneRank rank;
  rank.each_batch = 30 * kSecond;
  rank.settings.wake_up = kSecond;
  rank.run([](OneRank& r, MpiRank& worker) -> Task {
    for (const double ready : {0, 30}) {
      const bool goes_on = co_await worker.next_batch();
      EXPECT_TRUE(goes_on);
      co_await worker.samples();
      EXPECT_EQ(r.now(), ready);
      co_await worker.forward_backward();
      EXPECT_EQ(r.now(), ready == 0 ? 0 : 31);
    }
  });
}

// forward 2 s, backward of t2 until 3 s, of t1 until 4 s; half a second to wake up is paid with the
// next call.
TEST(MpiRank, WaitsForAGradient) {
  OneRank rank;
  rank.settings.wake_up = kSecond / 2;
  rank.run([](OneRank& r, MpiRank& worker) -> Task {
    const bool goes_on = co_await worker.next_batch();
    EXPECT_TRUE(goes_on);
    co_await worker.forward_backward();
    co_await worker.copy_to_host(1);
    co_await worker.wait_for_host_buffer(1);
    EXPECT_EQ(r.now(), 3);
    co_await worker.copy_to_host(0);
    co_await worker.wait_for_host_buffer(0);
    EXPECT_EQ(r.now(), 4);
    co_await worker.update_metric();
    EXPECT_EQ(r.now(), 4.5) << "the forward pass is long over";
  });
}

TEST(MpiRank, BarrierWaitsForWhatWasPushed) {
  OneRank rank;
  rank.run([](OneRank& r, MpiRank& worker) -> Task {
    const bool goes_on = co_await worker.next_batch();
    EXPECT_TRUE(goes_on);
    co_await worker.forward_backward();
    co_await worker.copy_to_host(0);
    co_await worker.push_all_reduce(0);
    EXPECT_EQ(r.now(), 0);
    co_await worker.barrier();
    EXPECT_EQ(r.now(), 5);  // gradient at 4 s, all-reduce 1 s
  });
}

TEST(MpiRank, GoesThroughKeysInTheOrderThatIsSet) {
  OneRank rank;
  rank.run([](OneRank&, MpiRank& worker) -> Task {
    EXPECT_EQ(worker.keys(), (std::vector<std::int32_t>{0, 1}));
    co_return;
  });
  OneRank backward;
  backward.settings.backward_keys = true;
  backward.run([](OneRank&, MpiRank& worker) -> Task {
    EXPECT_EQ(worker.keys(), (std::vector<std::int32_t>{1, 0}));
    co_return;
  });
}

}  // namespace
}  // namespace steptime
