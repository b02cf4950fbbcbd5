// A step of two GPUs that a kvstore of one key or two holds together.
#include "sim/mxnet/module_step.h"

#include "sim/mxnet/merge.h"
#include "tests/support/embedded.h"
#include "tests/support/push_pulls.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Layers with a tensor of 1 MB each, which takes 1.001 s between the two GPUs.
Workload layers(const std::vector<LayerTimes>& times) {
  Workload workload = layers_of(times);
  for (Layer& layer : workload.trace.layers)
    layer.tensors.front().params = 1'000'000;
  return workload;
}

struct Settings {
  std::string merge = "device";
  std::optional<MxnetSettings> settings{};
  Variation variation{};
  IssuingThread issuing{};
  std::string schedule = R"({"type": "wfbp"})";
  double reduction = 0;
  Duration input{};  ///< of a step's samples
  std::string update = R"({"type": "sgd"})";
  std::int64_t learning = 0;
};

EmbeddedStep play(const Workload& workload, const Settings& run = {}) {
  Cluster cluster = pair_of_gpus(run.reduction);
  cluster.intra_node = {milliseconds(1), {1e6}};
  Aggregation aggregation{.merge = Merges::instance().make_default(run.merge, cluster),
                          .issuing = run.issuing};
  aggregation.servers = {.count = 2,
                         .sharding = Shardings::instance().make_default("greedy"),
                         .copies = {.threads = 2, .first_key_first = true}};
  const auto schedule = make<Schedule>(run.schedule);
  const auto units = workload.units(schedule->granularity());
  const LinearCollective nothing(LinearCost{});
  StepPlan plan =
      plan_step(workload, units, schedule->plan(units, nothing), nothing, cluster.workers());
  plan.input = run.input;
  const auto update = make<Update>(run.update);
  plan.after_backward = plan.after_backward || update->sends_parameters();
  return module_step(plan, workload, units,
                     {.cluster = cluster,
                      .aggregation = aggregation,
                      .update = *update,
                      .embedding = Embedding(run.settings),
                      .steps = 4,
                      .variation = run.variation,
                      .learning = run.learning,
                      .attributes = true});
}
EmbeddedStep play(const std::vector<LayerTimes>& times, const Settings& run = {}) {
  return play(layers(times), run);
}

TEST(ModuleStep, OneKeyGoesToItsGpuAndBack) {
  // GPU 0 adds up, and has the sum one copy before GPU 1, whose step is that much behind: from one
  // start of GPU 0 to the next it is GPU 1's copy back, its two passes and its copy up.
  const EmbeddedStep step = play({{seconds(1), seconds(2)}});
  EXPECT_EQ(step.times.step, seconds(3) + 2 * milliseconds(1001));
  // The key is under way from GPU 0's copy of its gradient to itself until GPU 1, whose gradient
  // comes a copy later, has sent that and has the sum.
  ASSERT_EQ(step.buckets.size(), 1U);
  EXPECT_EQ(step.buckets[0].ready, seconds(3));
  EXPECT_EQ(step.buckets[0].start, seconds(3));
  EXPECT_EQ(step.buckets[0].end, seconds(3) + 3 * milliseconds(1001));
}

TEST(ModuleStep, AKeyIsNotOverBeforeItsPullIsPushed) {
  // The main thread takes 20 s for the pull, which is all that GPU 0 waits for: it has its weights
  // at once, and GPU 1 a copy later.
  const EmbeddedStep step = play({{seconds(1), seconds(2)}}, {.issuing = {.pull = seconds(20)}});
  EXPECT_EQ(step.times.step, seconds(20));
  EXPECT_EQ(step.buckets[0].start, seconds(3));
  EXPECT_EQ(step.buckets[0].end, seconds(20) + milliseconds(1001));
}

/// Each layer's forward pass is a segment of its own, which waits for its own weights only.
const MxnetSettings kLayerByLayer{.bulk = 1};

TEST(ModuleStep, AKeyIsSentUnderTheBackwardPass) {
  // The key of layer 2 is there 4 s before that of layer 1, and back within 2.002 s.
  const EmbeddedStep step =
      play({{seconds(1), seconds(4)}, {seconds(1), seconds(1)}}, {.settings = kLayerByLayer});
  EXPECT_EQ(step.times.step, seconds(7) + 2 * milliseconds(1001));
  EXPECT_EQ(step.buckets[0].ready, seconds(3));
  // Unless the schedule waits for the end of the backward pass: then GPU 1 sends the sum of layer
  // 2, another 1 MB, when GPU 0 waits for its gradient of layer 1.
  const EmbeddedStep naive = play({{seconds(1), seconds(4)}, {seconds(1), seconds(1)}},
                                  {.settings = kLayerByLayer, .schedule = R"({"type": "naive"})"});
  EXPECT_EQ(naive.times.step, step.times.step + seconds(1));
  EXPECT_GE(naive.buckets[0].start, seconds(7));
}

TEST(ModuleStep, AForwardPassWaitsForItsOwnKeysOnly) {
  // Layer 1 has no tensor. Layer 2's is there at 5 s, GPU 0's backward pass ends at 6 s, and all is
  // back at 7.002 s, before the next forward pass comes to layer 2 at 9 s.
  Workload workload = layers({{seconds(3), seconds(1)}, {seconds(1), seconds(1)}});
  workload.trace.layers.front().tensors.clear();
  const EmbeddedStep step = play(workload, {.settings = kLayerByLayer});
  EXPECT_EQ(step.times.step, seconds(6));
  EXPECT_EQ(step.attribution.hidden_under_backward, seconds(1));
  EXPECT_EQ(step.attribution.hidden_under_forward, milliseconds(1002));
  EXPECT_EQ(step.times.comm_busy, milliseconds(2002));
}

TEST(ModuleStep, WaitsForItsSamples) {
  // Both GPUs begin when the samples are there. GPU 0 adds up, and has its weight at 3 s + 1.001 s;
  // from then on it waits for samples only.
  const std::vector<LayerTimes> layer{{seconds(1), seconds(2)}};
  const EmbeddedStep step = play(layer, {.input = seconds(8)});
  EXPECT_EQ(step.times.step, seconds(8));
  EXPECT_EQ(step.times.exposed_input, seconds(5) - milliseconds(1001));
  EXPECT_EQ(step.times.exposed_comm, milliseconds(1001));
  EXPECT_EQ(step.cold, play(layer).cold);
  const MxnetSettings settings{.python_call = milliseconds(10), .wake_up = milliseconds(500)};
  EXPECT_EQ(play(layer, {.settings = settings, .input = seconds(8)}).times.step, seconds(8));
  EXPECT_EQ(play(layer, {.variation = {.jitter = 0.1}, .input = seconds(8)}).times.step,
            seconds(8));
  // Samples that are there in time change nothing.
  EXPECT_EQ(play(layer, {.input = seconds(5)}).times, play(layer).times);
  EXPECT_EQ(play(layer, {.input = milliseconds(5003)}).times.step, milliseconds(5003));
}

TEST(ModuleStep, KeysTravelInTheStepsThatExchange) {
  // GPU 0's third step ends with the exchange of both keys, 2 MB up and 2 MB back; the others take
  // 6 s. GPU 1 begins as long after it as the copies back take, at most 2.002 s, and meets it in
  // the next exchange.
  const std::vector<LayerTimes> layers{{seconds(1), seconds(2)}, {seconds(1), seconds(2)}};
  const Settings each{.update = R"({"type": "local-sgd", "interval": 1})"};
  const Settings third{.update = R"({"type": "local-sgd", "interval": 3})", .learning = 7};
  const Duration exchange = play(layers, each).times.step - seconds(6);
  EXPECT_GT(exchange, seconds(2));
  const EmbeddedStep step = play(layers, third);
  EXPECT_EQ(step.times.step, (3 * Duration(seconds(6)) + exchange) / 3);
  // The first two end with the backward pass, at 6 and 12 s. The third ends with the exchange.
  ASSERT_EQ(step.ends.size(), 7U);
  EXPECT_EQ(step.ends[0], seconds(6));
  EXPECT_EQ(step.ends[1], seconds(12));
  EXPECT_GT(step.ends[2], seconds(20));
  EXPECT_EQ(step.ends[5] - step.ends[2], 3 * Duration(seconds(6)) + exchange);
  EXPECT_EQ(step.cold, step.ends[2] / 3);
  // With the gradients of every step there is as much to wait for as with one exchange a step.
  EXPECT_EQ(play(layers, {.schedule = R"({"type": "naive"})"}).times.step,
            play(layers, each).times.step);
}

TEST(ModuleStep, TheMainThreadMayBeWhatTakesLongest) {
  // Forward and backward passes of two GPUs, push, update, pull and metric: eight calls. GPU 1 has
  // its weight 2.002 s after the second last of them.
  MxnetSettings settings{.python_call = seconds(1), .wake_up = milliseconds(500)};
  EXPECT_EQ(play({{milliseconds(1), milliseconds(1)}}, {.settings = settings}).times.step,
            milliseconds(8500));
  // One push: what comes back, comes back under the next one.
  const IssuingThread issuing{.push = seconds(10), .pushes_first = false};
  EXPECT_EQ(play({{seconds(1), seconds(2)}}, {.issuing = issuing}).times.step, seconds(10));
}

TEST(ModuleStep, OnlyAnOptimizerThatTakesTimeHoldsTheWeights) {
  // 1 ns/B for three accesses, so that each of 1 MB takes 1/3 ms: the sum 3 of them. An optimizer
  // of 2 ms writes weights of its own on GPU 0, which are copied to the buffer of the sum first, 2
  // accesses; GPU 1 waits for them in every step.
  const auto step_of = [](Duration update) {
    return play({{seconds(1), seconds(2)}},
                {.settings = MxnetSettings{.update = update}, .reduction = 1e-9})
        .times.step;
  };
  const Duration access = from_seconds(1e6 * (1e-9 / 3));
  const Duration without = seconds(3) + 2 * milliseconds(1001) + 3 * access;
  EXPECT_NEAR(to_seconds(step_of({})), to_seconds(without), 1e-9);
  EXPECT_NEAR(to_seconds(step_of(milliseconds(2))),
              to_seconds(without + milliseconds(2) + 2 * access), 1e-9);
}

TEST(ModuleStep, TheFirstStepFindsEverythingIdle) {
  // GPU 1 has its weights at 3 s + 2.002 s, and GPU 0 a copy before it; from then on GPU 1 is what
  // takes longest.
  EXPECT_EQ(play({{seconds(1), seconds(2)}}).cold, seconds(3) + 2 * milliseconds(1001));
}

TEST(ModuleStep, GpusMayVary) {
  const std::vector<LayerTimes> times{{seconds(1), seconds(2)}};
  const Variation variation{.jitter = 0.2};
  const EmbeddedStep varied = play(times, {.variation = variation});
  EXPECT_NE(varied.times.step, play(times).times.step);
  EXPECT_EQ(varied.times, play(times, {.variation = variation}).times);
}

TEST(ModuleStep, AttributionAddsUp) {
  for (const char* merge : {"device", "local"}) {
    const EmbeddedStep step =
        play({{seconds(1), seconds(1)}, {seconds(2), seconds(1)}}, {.merge = merge});
    EXPECT_EQ(step.attribution.exposed + step.attribution.idle, step.times.exposed_comm) << merge;
    double causes = 0;
    for (const auto& [what, seconds] : spent(step)) {
      EXPECT_NE(what.first, "not explained") << merge;
      causes += seconds;
    }
    EXPECT_NEAR(causes, to_seconds(step.times.step), 1e-11) << merge;
    EXPECT_FALSE(step.bounds) << merge;
  }
}

// As in OneKeyGoesToItsGpuAndBack: GPU 1's copy back, its two passes and its copy up.
TEST(ModuleStep, CopiesThatGpusWaitForAreCauses) {
  EXPECT_EQ(spent(play({{seconds(1), seconds(2)}})),
            (SecondsByCause{{{"forward pass", "GPU"}, 1},
                            {{"backward pass", "GPU"}, 2},
                            {{"copies", "links inside nodes"}, 2},
                            {{"latency of copies", "links inside nodes"}, 0.002}}));
}

// The main thread's calls take longer than all else: of a pass of each GPU forward and backward, of
// the push, of its update, of the pull and of the metric, 8 of 10 s. Behind the wait for the
// metric, which is over long before, it wakes up, 1 s. It pushes 4 segments, 2 copies and a sum, 2
// copies back and the wait, 0.1 s each.
TEST(ModuleStep, AHostThatGpusWaitForIsTheCause) {
  const EmbeddedStep step = play(
      {{seconds(1), seconds(2)}},
      {.settings = MxnetSettings{
           .python_call = seconds(10), .engine_push = milliseconds(100), .wake_up = seconds(1)}});
  EXPECT_EQ(step.times.step, seconds(82));
  EXPECT_EQ(spent(step), (SecondsByCause{{{"calls of the framework", "host"}, 80},
                                         {{"pushes to the engine", "host"}, 1},
                                         {{"wake-ups of the main thread", "host"}, 1}}));
}

// An operation on a GPU takes 5 s besides its bytes. GPU 1's step, as above, has five of them one
// after another: its copy up, the sum, the update, the copy of the weights to the buffer of the
// sum, from which a pull goes, and the copy back.
TEST(ModuleStep, AGpusOperationsAreCauses) {
  const SecondsByCause causes = spent(
      play({{seconds(1), seconds(2)}},
           {.settings = MxnetSettings{.update = milliseconds(500), .gpu_operation = seconds(5)}}));
  EXPECT_EQ(causes, (SecondsByCause{{{"forward pass", "GPU"}, 1},
                                    {{"backward pass", "GPU"}, 2},
                                    {{"launches of copies, sums and updates", "GPU"}, 25},
                                    {{"updates of weights", "GPU"}, 0.5},
                                    {{"copies", "links inside nodes"}, 2},
                                    {{"latency of copies", "links inside nodes"}, 0.002}}));
}

TEST(ModuleStep, AGpuThatIsSlowerIsTheCause) {
  // GPU 1 has half the speed: as in OneKeyGoesToItsGpuAndBack, and its passes take 3 s more.
  Variation variation;
  variation.gpus_per_node = 2;
  variation.gpus = {{.node = 0, .gpu = 1, .speed = 0.5}};
  const EmbeddedStep step = play({{seconds(1), seconds(2)}}, {.variation = variation});
  EXPECT_EQ(step.times.compute, seconds(6));
  EXPECT_EQ(spent(step), (SecondsByCause{{{"forward pass", "GPU"}, 1},
                                         {{"backward pass", "GPU"}, 2},
                                         {{"slower worker", "GPU"}, 3},
                                         {{"copies", "links inside nodes"}, 2},
                                         {{"latency of copies", "links inside nodes"}, 0.002}}));
}

}  // namespace
}  // namespace steptime
