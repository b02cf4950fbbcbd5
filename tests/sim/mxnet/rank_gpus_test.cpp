// Do the ranks of an engine compute more slowly beside collectives, and collectives travel more
// slowly beside what ranks compute?
#include "sim/mxnet/rank_gpus.h"

#include "sim/core/fast_paths.h"
#include "tests/support/embedded.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::vector<std::string> kEngines{"naive", "funnel", "concum", "depcha"};
const std::vector<LayerTimes> kUneven{{3 * kSecond, 1 * kSecond}, {1 * kSecond, 4 * kSecond},
                                      {2 * kSecond, 2 * kSecond}, {5 * kSecond, 3 * kSecond},
                                      {1 * kSecond, 1 * kSecond}, {2 * kSecond, 6 * kSecond}};

/// Whatever the size.
RankGpus::Costs factors(double compute, double collective) {
  return {[=](Bytes) { return Slowdown{compute, collective}; }};
}

/// Two GPUs of a node, half a kilobyte a second.
Cluster slow_node() {
  Cluster cluster{.nodes = 1, .gpus_per_node = 2};
  cluster.intra_node = {{}, {500}};
  cluster.network = cluster.intra_node;
  return cluster;
}

/// The layers with keys of so many bytes.
Workload with_keys_of(std::int64_t bytes, std::span<const LayerTimes> times) {
  Workload workload = layers_of(times);
  for (Layer& layer : workload.trace.layers)
    layer.tensors.front().params = bytes;
  return workload;
}

// Forward 1 s + 1 s; backward 2 s and then `last`, beside which the last layer's key goes, 2 s:
//
//   0   2    4              last 4 s:  beside it 3 s, by when 1.5 s of it are done, and 2.5 s later
//   [ f ][ b ][ b beside key 2  ][   b   ][ key 1 ]
//   0   2    4                  7       9.5      11.5
//
//   last 1 s: it takes 2 s, when 2 / 1.5 s of the key's are done, and the rest takes 2/3 s
TEST(RankGpus, AKeyBesideTheBackwardPass) {
  const auto embedding = embedding_of("funnel", R"("key_order": "backward", "bulk": 1)");
  const auto run = [&](Duration last) {
    const std::vector<LayerTimes> layers{{kSecond, last}, {kSecond, 2 * kSecond}};
    return run_embedded(*embedding, layers_of(layers), line(2 * kSecond, {}),
                        {.workers = 2, .overlap = factors(2, 1.5), .attributes = true});
  };
  const EmbeddedStep slow_pass = run(4 * kSecond);
  EXPECT_EQ(to_seconds(slow_pass.times.step), 11.5);
  EXPECT_EQ(slow_pass.times.compute, 8 * kSecond);
  EXPECT_EQ(to_seconds(slow_pass.times.exposed_comm), 3.5);
  EXPECT_EQ(to_seconds(slow_pass.cold), 11.5);
  EXPECT_EQ(slow_pass.times.comm_busy, 5 * kSecond);
  EXPECT_EQ(spent(slow_pass),
            (SecondsByCause{{{"forward pass", "GPU"}, 2},
                            {{"backward pass", "GPU"}, 6},
                            {{"backward pass slowed by collectives", "GPU"}, 1.5},
                            {{"start-up of collectives", "links between nodes"}, 2}}));
  ASSERT_EQ(slow_pass.buckets.size(), 2U);
  EXPECT_EQ(to_seconds(slow_pass.buckets[0].end), 7);
  EXPECT_EQ(to_seconds(slow_pass.buckets[1].ready), 9.5);

  const EmbeddedStep slow_key = run(kSecond);
  EXPECT_EQ(slow_key.times.step.count(), 8'666'666'666'667);
  EXPECT_EQ(spent(slow_key),
            (SecondsByCause{{{"forward pass", "GPU"}, 2},
                            {{"backward pass", "GPU"}, 2},
                            {{"collectives slowed by kernels", "GPU"}, 0.666'666'666'667},
                            {{"start-up of collectives", "links between nodes"}, 4}}));
}

// Forward 1 s and 4 s, backward 1 s and 1 s, keys of 2 s one after another, in forward order:
//
//   0        2      3       7     8    9       11    of a forward pass that begins beside key 2
//   [ f 1    ]      [  f 2  ][ b 2 ][ b 1 ]     [ f 1
//   [   key 2       ]                    [ key 1 ]
//
// The first layer takes twice as long, as does the key beside it, of which 1 s is done at 2 s.
TEST(RankGpus, AKeyBesideTheNextForwardPass) {
  const auto embedding = embedding_of("depcha", R"("bulk": 1)");
  const std::vector<LayerTimes> layers{{kSecond, kSecond}, {4 * kSecond, kSecond}};
  const EmbeddedStep step =
      run_embedded(*embedding, layers_of(layers), line(2 * kSecond, {}),
                   {.workers = 2, .overlap = factors(2, 2), .attributes = true});
  EXPECT_EQ(step.times.step, 11 * kSecond);
  EXPECT_EQ(step.times.exposed_comm, 4 * kSecond);
  EXPECT_EQ(step.attribution.hidden_under_forward, 2 * kSecond);
  EXPECT_EQ(step.attribution.exposed, 3 * kSecond);
  EXPECT_EQ(spent(step), (SecondsByCause{{{"forward pass", "GPU"}, 4},
                                         {{"backward pass", "GPU"}, 2},
                                         {{"collectives slowed by kernels", "GPU"}, 1},
                                         {{"start-up of collectives", "links between nodes"}, 4}}));
}

// Forward 1 s, backward 1 s, 0.5 s and 8 s, two keys of 2 s beside it, each of which makes it take
// twice as long. The last layer's travels from 2 s to 4 s, the next one's from 3 s, when its layer
// has taken 1 s, to 5 s. The first layer has 1/4 s done at 4 s and 3/4 s at 5 s, and is over at
// 12.25 s. Its key takes 2 s.
TEST(RankGpus, SeveralKeysAtOnceSlowAsOftenDown) {
  const auto embedding = embedding_of(
      "concum", R"("key_order": "backward", "bulk": 1, "outstanding": 3, "threads": 3)");
  const std::vector<LayerTimes> layers{{kSecond, 8 * kSecond}, {{}, kSecond / 2}, {{}, kSecond}};
  const EmbeddedStep step = run_embedded(*embedding, layers_of(layers), line(2 * kSecond, {}),
                                         {.workers = 2, .overlap = factors(2, 1)});
  EXPECT_EQ(to_seconds(step.buckets[0].start), 2);
  EXPECT_EQ(to_seconds(step.buckets[1].start), 3);
  EXPECT_EQ(to_seconds(step.buckets[1].end), 5);
  EXPECT_EQ(to_seconds(step.buckets[2].ready), 12.25);
  EXPECT_EQ(to_seconds(step.times.step), 14.25);
}

// A key of 1000 bytes is two messages of a second each. The last layer's leaves at 4 s; until 6 s
// kernels run and its links carry half as much, so that its second message begins then.
TEST(RankGpus, KernelsSlowLinksDown) {
  const Cluster cluster = slow_node();
  const Ring ring(2, {{}, {2e-3}});
  const std::vector<LayerTimes> layers{{kSecond, 2 * kSecond}, {kSecond, 2 * kSecond}};
  EmbeddedRun run{.workers = 2, .played = {{&cluster, &ring}}};
  const auto played = [&](double factor) {
    run.overlap.links = factor;
    return run_embedded(*embedding_of("funnel", R"("key_order": "backward", "bulk": 1)"),
                        with_keys_of(1000, layers), ring, run);
  };
  EXPECT_EQ(played(1).times.step, 8 * kSecond);
  const EmbeddedStep step = played(2);
  EXPECT_EQ(to_seconds(step.buckets[0].start), 4);
  EXPECT_EQ(to_seconds(step.buckets[0].end), 7);
  EXPECT_EQ(to_seconds(step.times.step), 9);
}

/// With calls that take time, so that kernels stop and begin again.
std::string costly(const std::string& order) {
  return R"("python_call": "100 ms", "engine_push": "7 ms", "wake_up": "50 ms",
            "copy_latency": "80 ms", "bulk": 2, "key_order": ")" +
         order + "\"";
}

TEST(RankGpus, FactorsOfOneChangeNothing) {
  const Cluster cluster = slow_node();
  const Ring ring(2, {{}, {2e-3}});
  const Workload workload = with_keys_of(777, kUneven);
  for (const std::string& type : kEngines) {
    for (const char* order : {"forward", "backward"}) {
      for (const bool plays : {false, true}) {
        const auto embedding = embedding_of(type, costly(order));
        EmbeddedRun run{.workers = 2, .attributes = true};
        if (plays) run.played = {&cluster, &ring};
        const EmbeddedStep without = run_embedded(*embedding, workload, ring, run);
        run.overlap = factors(1, 1);
        const EmbeddedStep with = run_embedded(*embedding, workload, ring, run);
        EXPECT_EQ(with.times, without.times) << type;
        EXPECT_EQ(with.cold, without.cold) << type;
        EXPECT_EQ(with.attribution.waits, without.attribution.waits) << type;
        EXPECT_EQ(spent(with), spent(without)) << type;
      }
    }
  }
}

/// What the ranks of a node do, each and one for all, where kernels slow links and collectives
/// down, and these them.
TEST(RankGpus, OneStandsForAll) {
  Cluster cluster = slow_node();
  cluster.gpus_per_node = 4;
  const Ring ring(4, {{}, {3e-3}});
  const Workload workload = with_keys_of(1200, kUneven);
  for (const std::string& type : kEngines) {
    for (const bool plays : {false, true}) {
      const auto embedding = embedding_of(type, costly("backward"));
      EmbeddedRun run{.workers = 4, .overlap = factors(1.5, 1.25), .attributes = true};
      if (plays) {
        run.played = {&cluster, &ring};
        run.overlap.links = 3;
      }
      const EmbeddedStep one = run_embedded(*embedding, workload, ring, run);
      const WithoutFastPaths all_ranks;
      const EmbeddedStep all = run_embedded(*embedding, workload, ring, run);
      EXPECT_EQ(one.simulated_ranks, 1);
      EXPECT_EQ(all.simulated_ranks, 4);
      EXPECT_EQ(one.times.step, all.times.step) << type << plays;
      EXPECT_EQ(one.cold, all.cold) << type << plays;
      EXPECT_EQ(one.attribution.waits, all.attribution.waits) << type << plays;
    }
  }
}

// Rank 1 has half the speed of rank 0. The last layer's key leaves when rank 1 has that gradient,
// at 8 s, when rank 0's pass is over since 6 s. Beside rank 1's last layer, 4 s, the key takes
// twice its 2 s, until 12 s, when 2 s of the layer are done; 2 s later it is over, and 2 s later
// the other key.
TEST(RankGpus, AnyRankThatComputesSlowsAllDown) {
  const auto embedding = embedding_of("funnel", R"("key_order": "backward", "bulk": 1)");
  const std::vector<LayerTimes> layers{{kSecond, 2 * kSecond}, {kSecond, 2 * kSecond}};
  EmbeddedRun run{.workers = 2, .steps = 3, .overlap = factors(2, 2), .attributes = true};
  run.variation = {.gpus = {{.node = 1, .speed = 0.5}}};
  const EmbeddedStep step = run_embedded(*embedding, layers_of(layers), line(2 * kSecond, {}), run);
  EXPECT_EQ(step.times.step, 16 * kSecond);
  EXPECT_EQ(step.times.compute, 12 * kSecond);
  EXPECT_EQ(spent(step), (SecondsByCause{{{"forward pass", "GPU"}, 2},
                                         {{"backward pass", "GPU"}, 4},
                                         {{"slower worker", "GPU"}, 6},
                                         {{"backward pass slowed by collectives", "GPU"}, 2},
                                         {{"start-up of collectives", "links between nodes"}, 2}}));
}

}  // namespace
}  // namespace steptime
