// Are ranks played to a steady state, alike or not, and does every embedding take every schedule?
#include "sim/mxnet/embedding.h"

#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/events/engine.h"
#include "tests/support/embedded.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::vector<std::string> kEngines{"naive", "funnel", "concum", "depcha"};
const std::vector<LayerTimes> kUneven{{3 * kSecond, 1 * kSecond}, {1 * kSecond, 4 * kSecond},
                                      {2 * kSecond, 2 * kSecond}, {5 * kSecond, 3 * kSecond},
                                      {1 * kSecond, 1 * kSecond}, {2 * kSecond, 6 * kSecond}};

// The fast path against its oracle: when all ranks are alike, one of them is enough.
TEST(Embedding, OneRankStandsForAll) {
  const Workload workload = layers_of(kUneven);
  for (const std::string& type : kEngines) {
    for (const char* order : {"forward", "backward"}) {
      const auto embedding =
          embedding_of(type, R"("python_call": "100 ms", "engine_push": "7 ms", "wake_up": "50 ms",
                   "copy_latency": "80 ms", "bulk": 2, "key_order": ")" +
                                 std::string(order) + "\"");
      const LinearCollective collective = line(kSecond, 2 * kSecond);
      const EmbeddedStep one = run_embedded(*embedding, workload, collective, {.workers = 5});
      const WithoutFastPaths all_ranks;
      const EmbeddedStep all = run_embedded(*embedding, workload, collective, {.workers = 5});
      EXPECT_EQ(one.simulated_ranks, 1);
      EXPECT_EQ(all.simulated_ranks, 5);
      EXPECT_EQ(one.times, all.times) << type << " " << order;
      EXPECT_EQ(one.attribution.exposed, all.attribution.exposed);
      EXPECT_EQ(one.attribution.transient, all.attribution.transient);
      EXPECT_EQ(one.attribution.waits, all.attribution.waits);
    }
  }
}

/// Collectives that take a second, and barriers that take none, each by the clock that it is given.
class OneSecond final : public RealCollectives {
 public:
  std::unique_ptr<Medium> medium(Engine& clock, std::int32_t communicator) override {
    return std::make_unique<Second>(clock, communicator == 1 ? &barriers : nullptr);
  }
  void run(Engine& clock) override { clock.run(); }
  int barriers = 0;

 private:
  class Second final : public Medium {
   public:
    Second(Engine& clock, int* barriers) : clock_(clock), barriers_(barriers) {}
    void start(Bytes, Callback done) override {
      if (barriers_ != nullptr) ++*barriers_;
      clock_.after(barriers_ != nullptr ? Duration{} : kSecond, Phase::kComplete,
                   [done] { done(); });
    }

   private:
    Engine& clock_;
    int* barriers_;
  };
};

// One rank whose collectives are somewhere else does what the simulated ranks do. With one
// communicator no two of them share anything.
TEST(Embedding, RealCollectivesTakeThePlaceOfTheSimulated) {
  const Workload workload = layers_of(kUneven);
  for (const std::string type : {"funnel", "depcha", "concum"}) {
    const auto embedding = embedding_of(
        type, type == "concum" ? R"("outstanding": 1, "communicators": 1)" : R"("bulk": 1)");
    OneSecond real;
    const EmbeddedStep simulated =
        run_embedded(*embedding, workload, line(kSecond, Duration{}), {.workers = 5});
    const EmbeddedStep played = run_embedded(*embedding, workload, line(kSecond, Duration{}),
                                             {.workers = 5, .steps = 2, .real = &real});
    EXPECT_EQ(played.times.step, simulated.times.step) << type;
    EXPECT_EQ(played.attribution.steps, 7)
        << type;  // four that fill the pipeline, two, and one more
    EXPECT_EQ(real.barriers, type == "concum" ? 7 * 6 : 0);  // one for each of six keys
  }
}

TEST(Embedding, AttributionAddsUp) {
  const Workload workload = layers_of(kUneven);
  for (const std::string& type : kEngines) {
    const auto embedding = embedding_of(type, R"("python_call": "100 ms", "bulk": 1)");
    const EmbeddedStep step = run_embedded(*embedding, workload, line(kSecond, kSecond));
    const Attribution& a = step.attribution;
    EXPECT_EQ(a.exposed + a.idle, step.times.exposed_comm) << type;
    Duration waits{};
    for (const auto& [what, time] : a.waits)
      waits += time;
    EXPECT_EQ(waits, step.times.exposed_comm) << type;
    if (type == "concum" || type == "naive") continue;  // start-ups overlap, bandwidth is shared
    EXPECT_EQ(a.hidden_under_backward + a.hidden_under_forward + a.exposed, step.times.comm_busy);
  }
}

TEST(Embedding, WaitsForItsSamples) {
  // 1 s forward, 2 s backward, 1 s all-reduce: from 4 s on the GPU waits for samples only.
  const Workload workload = layers_of(std::vector<LayerTimes>{{kSecond, 2 * kSecond}});
  const LinearCollective collective = line(kSecond, {});
  const auto run = [&](const Embedding& embedding, Duration input,
                       EmbeddedRun of = {.workers = 2, .attributes = true}) {
    return run_embedded(embedding, workload, collective, of, R"({"type": "wfbp"})", input);
  };
  for (const std::string& type : kEngines) {
    const auto embedding = embedding_of(type);
    const EmbeddedStep step = run(*embedding, 10 * kSecond);
    EXPECT_EQ(step.times.step, 10 * kSecond) << type;
    EXPECT_EQ(step.times.exposed_input, 6 * kSecond) << type;
    EXPECT_EQ(step.times.exposed_comm, kSecond) << type;
    EXPECT_EQ(spent(step),
              (SecondsByCause{{{"input", "input pipeline"}, 6},
                              {{"backward pass", "GPU"}, 2},
                              {{"forward pass", "GPU"}, 1},
                              {{"start-up of collectives", "links between nodes"}, 1}}))
        << type;
    EXPECT_EQ(step.attribution.waits.front().first, "samples, of the input pipeline") << type;
    EXPECT_EQ(step.attribution.waits.front().second, 6 * kSecond) << type;
    // Samples that are there in time change nothing.
    EXPECT_EQ(run(*embedding, 4 * kSecond).times, run(*embedding, {}).times) << type;
    const auto costly =
        embedding_of(type, R"("python_call": "10 ms", "wake_up": "500 ms", "jitter": 0.2)");
    const EmbeddedRun ranks{.workers = 3, .steps = 5};
    EXPECT_EQ(run(*costly, 20 * kSecond, ranks).times.step, 20 * kSecond) << type;
    EmbeddedRun one_clock = ranks;
    one_clock.one_clock = true;
    EXPECT_EQ(run(*costly, 5 * kSecond, ranks).times, run(*costly, 5 * kSecond, one_clock).times)
        << type;
  }
}

TEST(Embedding, OneWorkerComputesOnly) {
  const Workload workload = layers_of(kUneven);
  for (const std::string& type : kEngines) {
    const EmbeddedStep step =
        run_embedded(*embedding_of(type), workload, line(kSecond, kSecond), {.workers = 1});
    EXPECT_EQ(step.times.step, 31 * kSecond) << type;
  }
}

TEST(Embedding, GoesWithEverySchedule) {
  const Workload workload = layers_of(kUneven);
  for (const std::string& type : kEngines) {
    for (const char* schedule : {"naive", "wfbp", "sync-easgd", "mg-wfbp", "optimal"}) {
      const EmbeddedStep step =
          run_embedded(*embedding_of(type), workload, line(kSecond, kSecond), {.workers = 4},
                       R"({"type": ")" + std::string(schedule) + "\"}");
      EXPECT_GE(step.times.step, 31 * kSecond);
      EXPECT_LE(step.times.step, 31 * kSecond + step.times.comm_busy) << type << " " << schedule;
    }
  }
}

// Jitter only adds time, the same for the same seed.
TEST(Embedding, JitterIsSeeded) {
  const Workload workload = layers_of(kUneven);
  const auto calm = embedding_of("depcha");
  const auto shaky = embedding_of("depcha", R"("jitter": 0.5)");
  const LinearCollective collective = line(kSecond, {});
  const auto run = [&](const Embedding& e, std::int64_t seed) {
    return run_embedded(e, workload, collective, {.workers = 4, .steps = 20, .seed = seed}).times;
  };
  EXPECT_EQ(run(*shaky, 1), run(*shaky, 1));
  EXPECT_NE(run(*shaky, 1), run(*shaky, 2));
  EXPECT_GT(run(*shaky, 1).step, run(*calm, 1).step);
  EXPECT_LE(run(*shaky, 1).step, 3 * run(*calm, 1).step / 2);
}

// C = 6 + 12 s, S = 6 s, n d = 6 x (3 x 100 ms + 4 x 10 ms + 50 ms + 10 ms) = 2.4 s.
TEST(Embedding, BoundsOnFunnelOverDepCha) {
  const std::vector<LayerTimes> times(6, {kSecond, 2 * kSecond});
  const auto embedding =
      embedding_of("funnel",
                   R"("python_call": "100 ms", "engine_push": "10 ms", "wake_up": "50 ms",
         "copy_latency": "10 ms")");
  const EmbeddedStep step = run_embedded(*embedding, layers_of(times), line(kSecond, {}));
  EXPECT_EQ(to_seconds(step.bounds->serial), 2.4);
  EXPECT_DOUBLE_EQ(step.bounds->forward_order, (18 + 6 + 2.4) / (12 + 6));
  EXPECT_DOUBLE_EQ(step.bounds->backward_order, 1);  // S + n d = 8.4 s fit under B = 12 s
}

// One layer: all wait in its all-reduce for the slowest rank, and start the next step together, so
// that a step is that rank's 5 s of compute, as much longer as its factor, and 1 s.
TEST(Embedding, AStepIsThatOfTheSlowestRank) {
  const std::vector<LayerTimes> layer{{2 * kSecond, 3 * kSecond}};
  EmbeddedRun run{.workers = 4, .steps = 3, .seed = 7, .variation = {.spread = 0.2}};
  double slowest = 0;
  for (std::int64_t rank = 0; rank < run.workers; ++rank)
    slowest = std::max(slowest, run.variation.factor(run.seed, rank, 0));
  for (const std::string& type : kEngines) {
    const EmbeddedStep step =
        run_embedded(*embedding_of(type), layers_of(layer), line(kSecond, {}), run);
    EXPECT_EQ(step.simulated_ranks, 4) << type;
    // Both segments are rounded to a picosecond.
    EXPECT_NEAR(to_seconds(step.times.step), 5 * slowest + 1, 2e-12) << type;
  }
}

// Every rank straggles in every step: three times as long, and still all alike.
TEST(Embedding, StragglersComputeLonger) {
  const std::vector<LayerTimes> layer{{2 * kSecond, 3 * kSecond}};
  EmbeddedRun run{.workers = 3};
  run.variation = {.straggle_chance = 1, .straggle_factor = 3};
  for (const std::string& type : kEngines) {
    EXPECT_EQ(
        run_embedded(*embedding_of(type), layers_of(layer), line(kSecond, {}), run).times.step,
        16 * kSecond)
        << type;
  }
}

//   0   1     3  3.5   4.5  5.5 5.61 6.11      6.83 6.94
//   [f ][  b  ][ copy ]                             [f
//                    [wakes][AR][pull][copy back]
//                                [update][metric][wakes][f's call]
// The main thread leads from the copy on, and the next forward pass begins when it pushes that:
// 1 + 2 + 0.5 s, two wake-ups of 1 s, 1 s, and four calls of 0.1 s with a push of 0.01 s each.
TEST(Embedding, FunnelsStepIsThatOfItsMainThread) {
  const auto embedding =
      embedding_of("funnel",
                   R"("python_call": "100 ms", "engine_push": "10 ms", "wake_up": "1 s",
         "copy_latency": "500 ms")");
  const EmbeddedStep step =
      run_embedded(*embedding, layers_of(std::vector<LayerTimes>{{kSecond, 2 * kSecond}}),
                   line(kSecond, {}), {.workers = 2, .attributes = true});
  EXPECT_EQ(to_seconds(step.times.step), 6.94);
  EXPECT_EQ(spent(step), (SecondsByCause{{{"forward pass", "GPU"}, 1},
                                         {{"backward pass", "GPU"}, 2},
                                         {{"copies between GPU and host", "copy engines"}, 0.5},
                                         {{"wake-ups of the main thread", "host"}, 2},
                                         {{"start-up of collectives", "links between nodes"}, 1},
                                         {{"calls of the framework", "host"}, 0.4},
                                         {{"pushes to the engine", "host"}, 0.04}}));
}

// Forward 1 s, backward 2 s; of its key copy 0.5 s, all-reduce 1 s + 1 s and copy back 0.5 s; then
// the update, 0.25 s, for which the next forward pass waits.
TEST(Embedding, DepChasStepIsThatOfItsKey) {
  const auto embedding =
      embedding_of("depcha", R"("copy_latency": "500 ms", "update": "250 ms", "wake_up": "1 s")");
  const std::vector<LayerTimes> layer{{kSecond, 2 * kSecond}};
  const EmbeddedStep step =
      run_embedded(*embedding, layers_of(layer), line(kSecond, kSecond),
                   {.workers = 2, .attributes = true, .links = Pairs::kInNode});
  EXPECT_EQ(spent(step),
            (SecondsByCause{{{"forward pass", "GPU"}, 1},
                            {{"backward pass", "GPU"}, 2},
                            {{"copies between GPU and host", "copy engines"}, 1},
                            {{"start-up of collectives", "links inside nodes"}, 1},
                            {{"transfer and sums of collectives", "links inside nodes"}, 1},
                            {{"updates of weights", "GPU"}, 0.25}}));
}

// Rank 1 has half the speed of rank 0, which waits for it in the all-reduce: a step is rank 1's,
// whose passes take 3 s more than those of rank 0.
TEST(Embedding, AnotherRankThatIsLateIsTheCause) {
  const std::vector<LayerTimes> layer{{kSecond, 2 * kSecond}};
  EmbeddedRun run{.workers = 2, .steps = 3, .attributes = true};
  run.variation = {.gpus = {{.node = 1, .speed = 0.5}}};
  for (const std::string& type : kEngines) {
    const EmbeddedStep step =
        run_embedded(*embedding_of(type), layers_of(layer), line(kSecond, {}), run);
    EXPECT_EQ(spent(step),
              (SecondsByCause{{{"forward pass", "GPU"}, 1},
                              {{"backward pass", "GPU"}, 2},
                              {{"slower worker", "GPU"}, 3},
                              {{"start-up of collectives", "links between nodes"}, 1}}))
        << type;
  }
}

// Of the three steps behind the four of the warm-up, the slowest rank's: 3 s times its factor.
TEST(Embedding, ComputesAsLongAsTheSlowestRankOfEachStep) {
  const std::vector<LayerTimes> layer{{kSecond, 2 * kSecond}};
  EmbeddedRun run{.workers = 5, .steps = 3, .seed = 7};
  run.variation = {.jitter = 0.2};
  double seconds = 0;
  for (std::int64_t step = 4; step < 7; ++step) {
    double slowest = 0;
    for (std::int64_t rank = 0; rank < 5; ++rank)
      slowest = std::max(slowest, run.variation.factor(7, rank, step));
    seconds += slowest;  // 3 s of a mean of three
  }
  for (const std::string& type : kEngines) {
    const EmbeddedStep step =
        run_embedded(*embedding_of(type), layers_of(layer), line(kSecond, {}), run);
    EXPECT_NEAR(to_seconds(step.times.compute), seconds, 1e-11) << type;
    EXPECT_EQ(step.times.exposed_comm, step.times.step - step.times.compute) << type;
  }
}

// Segments take up to a tenth longer, at random: the slowest of many ranks about as many, the only
// one what the step has, as it sends nothing.
TEST(Embedding, ComputesLongerByItsJitter) {
  const std::vector<LayerTimes> layer{{kSecond, 2 * kSecond}};
  const auto compute = [&](std::int64_t workers) {
    return run_embedded(*embedding_of("depcha", R"("jitter": 0.1)"), layers_of(layer),
                        line(kSecond, {}), {.workers = workers, .steps = 20});
  };
  const double of_many = to_seconds(compute(200).times.compute);
  EXPECT_GT(of_many, 3.2);
  EXPECT_LT(of_many, 3.3);
  const double of_two = to_seconds(compute(2).times.compute);
  EXPECT_GT(of_two, 3.05);
  EXPECT_LT(of_two, of_many);
}

// A barrier before each key, which takes 1 s for two ranks: 3 s of compute, 1 s, and 1 s.
TEST(Embedding, ABarrierIsACause) {
  const std::vector<LayerTimes> layer{{kSecond, 2 * kSecond}};
  const auto embedding =
      embedding_of("concum", R"("outstanding": 1, "barrier": "after", "communicators": 1)");
  const EmbeddedStep step = run_embedded(*embedding, layers_of(layer), line(kSecond, {}),
                                         {.workers = 2, .latency = kSecond, .attributes = true});
  EXPECT_EQ(step.times.step, 5 * kSecond);
  EXPECT_EQ(spent(step), (SecondsByCause{{{"forward pass", "GPU"}, 1},
                                         {{"backward pass", "GPU"}, 2},
                                         {{"start-up of collectives", "messages on links"}, 1},
                                         {{"start-up of collectives", "links between nodes"}, 1}}));
}

// Whoever asks for causes gets the same times, of ranks that run ahead, too; and they add up.
TEST(Embedding, CausesOfRanksThatDifferAddUp) {
  const Workload workload = layers_of(kUneven);
  for (const std::string& type : kEngines) {
    const auto embedding = embedding_of(
        type, R"("jitter": 0.3, "bulk": 1, "python_call": "100 ms", "wake_up": "1 s")");
    EmbeddedRun run{.workers = 4, .steps = 5};
    const EmbeddedStep plain = run_embedded(*embedding, workload, line(kSecond, kSecond), run);
    run.attributes = true;
    const EmbeddedStep step = run_embedded(*embedding, workload, line(kSecond, kSecond), run);
    EXPECT_EQ(step.times, plain.times) << type;
    double sum = 0;
    for (const auto& [what, seconds] : spent(step)) {
      EXPECT_NE(what.first, "not explained") << type;
      sum += seconds;
    }
    EXPECT_NEAR(sum, to_seconds(step.times.step), 1e-11) << type;
  }
}

TEST(Embedding, UnknownKeysAreErrors) {
  EXPECT_THROW(make<Embedding>(R"({"type": "funnel", "threads": 4})"), InputError);
  EXPECT_THROW(make<Embedding>(R"({"type": "async", "jitter": 0.1})"), InputError);
  EXPECT_THROW(make<Embedding>(R"({"type": "depcha", "jitter": -1})"), InputError);
}

}  // namespace
}  // namespace steptime
