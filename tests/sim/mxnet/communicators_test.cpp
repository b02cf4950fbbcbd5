// Do all-reduces in flight together take what their messages on shared links take?
//
// Two ranks on a switch, 50 us and 800 ps/B, in a ring: two steps, in each of which both ranks send
// half of the data, h = 100 us for 250,000 B. With gamma = 1.6 ns/B the first half takes
// r = 200 us more to add up.
#include "sim/mxnet/communicators.h"

#include "netmodels/programs.h"
#include "sim/core/fast_paths.h"
#include "tests/support/embedded.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"
#include "tests/support/unmatched.h"

#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMicro{1'000'000};
constexpr std::int64_t kBytes = 250'000;
constexpr TimePerByte kSlowSum{1.6e-9};

/// A ring of two, alone 100 us of latencies and 800 ps/B, and with a sum half of gamma per byte.
Ring ring_of_two(TimePerByte gamma) {
  return Ring(2, {100 * kMicro, {0.8e-9 + gamma.seconds_per_byte / 2}});
}

/// Hears of all that starts and ends.
struct Heard final : Communicators::Listener {
  std::vector<std::int32_t> started;
  std::vector<std::int32_t> ended;
  void collective_started(Communicators::Subject s) override { started.push_back(s.key); }
  void collective_ended(Communicators::Subject s) override { ended.push_back(s.key); }
};

/// Three keys, each on a communicator of its own, of one rank that stands for both.
struct Two {
  Cluster cluster;
  Ring ring;
  TrainingGraph graph{.keys = {{"a", {kBytes}}, {"b", {kBytes}}, {"c", {kBytes}}}};
  World world;
  Heard heard;
  Communicators all;
  std::vector<Duration> ends;

  explicit Two(TimePerByte gamma, const Collective* other = nullptr)
      : cluster(star_cluster(2, gamma)),
        ring(ring_of_two(gamma)),
        all(world, graph, {.played = {{&cluster, other == nullptr ? &ring : other}}}, 1, 3, heard) {
  }
  void start_at(Duration time, std::int32_t key) {
    world.engine.at(Time(time), Phase::kNormal, [this, key] {
      all.call(0, {key, 0}, world.present(),
               {[](void* self, std::uint64_t) {
                  auto* two = static_cast<Two*>(self);
                  two->ends.push_back(since_start(two->world.now()));
                },
                this});
    });
  }
};

TEST(Communicators, NameWhoWaitsForEver) {
  const Cluster cluster = star_cluster(3);
  const Unmatched unmatched(cluster);
  Two two({}, &unmatched);
  two.start_at({}, 0);
  two.world.run();
  EXPECT_EQ(message_of<InternalError>([&] { two.all.expect_over(); }),
            "steptime::Unmatched: " + kWaits);
}

TEST(Communicators, AloneAKeyTakesItsTime) {
  Two two({});
  two.start_at(kMicro, 0);
  two.world.run();
  EXPECT_EQ(two.ends, (std::vector{301 * kMicro}));
}

// Each half takes twice as long on shared links: 2 (2 h + 50 us).
TEST(Communicators, TwoShareTheLinksButNotTheLatencies) {
  Two two({});
  two.start_at({}, 1);
  two.start_at({}, 0);
  two.world.run();
  EXPECT_EQ(two.ends, (std::vector{500 * kMicro, 500 * kMicro}));
  EXPECT_EQ(two.heard.started, (std::vector{1, 0}));
}

// The second one starts when the first half of the first one has drained, at 100 us, and has the
// links to itself until the first one's other half begins at 150 us: it has then sent half of its
// half. Both share from there: the second one's half takes 100 us more, until 250 us, and the
// first one has 50 us of its half left, as has sent the other, until 300 us, delivered at 350 us.
// The second one's other half begins at 300 us and is alone: 400 us, delivered at 450 us.
TEST(Communicators, AKeyThatStartsLaterMeetsWhatIsUnderWay) {
  Two two({});
  two.start_at({}, 0);
  two.start_at(100 * kMicro, 1);
  two.world.run();
  EXPECT_EQ(two.ends, (std::vector{350 * kMicro, 450 * kMicro}));
  EXPECT_EQ(two.heard.ended, (std::vector{0, 1}));
}

TEST(Communicators, CountTheirMessages) {
  EXPECT_EQ(Two({}).all.play_cost(), 12);  // three keys, two ranks, two steps
}

// Of two ranks and one communicator: rank 0 calls b and then a, rank 1 calls a in its second step.
TEST(Communicators, KnowWhoIsStuckInWhat) {
  const TrainingGraph graph{.keys = {{"a", {4}}, {"b", {4}}}};
  World world;
  Heard heard;
  Communicators all(world, graph, {}, 2, 1, heard);
  const auto call = [&](std::int32_t rank, Communicators::Subject subject) {
    all.call(rank, subject, world.present(), {});
  };
  call(0, {1, 0});
  call(0, {0, 0});
  call(1, {0, 1});
  call(1, {});
  world.run();
  EXPECT_TRUE(heard.started.empty());
  const auto stuck = all.stuck();
  ASSERT_EQ(stuck.size(), 4U);
  EXPECT_EQ(stuck[0].subject, (Communicators::Subject{1, 0}));
  EXPECT_EQ(stuck[1].rank, 1);
  EXPECT_EQ(stuck[1].subject, (Communicators::Subject{0, 1}));
  EXPECT_EQ(stuck[2].number, 1);
  EXPECT_EQ(stuck[2].subject, (Communicators::Subject{0, 0}));
  EXPECT_EQ(stuck[3].communicator, 1);
  EXPECT_EQ(stuck[3].subject, Communicators::Subject{});
}

// Rounds of messages between no two ranks take the time that is said.
TEST(Communicators, ABarrierTakesItsOwnTime) {
  const TrainingGraph graph;
  World world;
  Heard heard;
  Communicators all(world, graph, {.barrier = 2 * kSecond}, 1, 1, heard);
  world.start({"rank"}, [](Communicators& of) -> Task {
    co_await of.of(0, Communicators::kBarrier).call(0, {0});
  }(all));
  world.run();
  EXPECT_EQ(world.now(), Time(2 * kSecond));
  EXPECT_TRUE(world.stuck().empty());
}

/// The communication of a step of eight keys whose gradients all appear at once.
Duration communication(std::int64_t outstanding, TimePerByte gamma, bool plays) {
  const Cluster cluster = star_cluster(2, gamma);
  const Ring ring = ring_of_two(gamma);
  std::vector<LayerTimes> times(8);
  times.front().forward = kSecond;
  Workload workload = layers_of(times);
  for (Layer& layer : workload.trace.layers)
    layer.tensors.front().params = kBytes;
  EmbeddedRun run{.workers = 2};
  if (plays) run.played = {&cluster, &ring};
  const auto concum =
      embedding_of("concum", fmt::format(R"("threads": 8, "outstanding": {})", outstanding));
  const Duration step = run_embedded(*concum, workload, ring, run).times.step;
  const WithoutFastPaths all_ranks;
  EXPECT_EQ(run_embedded(*concum, workload, ring, run).times.step, step);
  return step - kSecond;
}

// K keys together: in each of the two steps the links carry K halves one after the other, in
// effect, but all pay their latency at the same time: 100 us + K 2 h. One channel for all says the
// same, since all of them are at the same step.
TEST(ConCum, LatenciesOverlapButBytesDoNot) {
  EXPECT_EQ(communication(1, {}, true), 8 * 300 * kMicro);
  EXPECT_EQ(communication(4, {}, true), 2 * 900 * kMicro);
  EXPECT_EQ(communication(8, {}, true), 1700 * kMicro);
  EXPECT_EQ(communication(4, {}, false), 2 * 900 * kMicro);
  EXPECT_EQ(communication(8, {}, false), 1700 * kMicro);
}

// Both ranks compute three times as long: 3 s, and the one all-reduce of 300 us.
TEST(Communicators, TakeEveryEmbeddingAndVariation) {
  const Cluster cluster = star_cluster(2);
  const Ring ring = ring_of_two({});
  Workload workload = layers_of(std::vector<LayerTimes>{{kSecond, {}}});
  workload.trace.layers.front().tensors.front().params = kBytes;
  EmbeddedRun run{.workers = 2,
                  .variation = {.straggle_chance = 1, .straggle_factor = 3},
                  .played = {{&cluster, &ring}}};
  const WithoutFastPaths messages;
  for (const char* type : {"naive", "funnel", "concum", "depcha"}) {
    EXPECT_EQ(run_embedded(*embedding_of(type), workload, ring, run).times.step,
              3 * kSecond + 300 * kMicro)
        << type;
  }
}

// K first halves arrive together, K h + 50 us after they left, and are added up one after the
// other, r each, as a GPU does one thing at a time. Each sum leaves at once: its h is over before
// the next sum is there, since h < r. In all K h + 50 us + K r + h + 50 us; alone it is
// 2 h + r + 100 us. One channel for all has no sums beside transfers: 100 us + K (2 h + r).
TEST(ConCum, SumsOfOneKeyOverlapTransfersOfAnother) {
  EXPECT_EQ(communication(1, kSlowSum, true), 8 * 500 * kMicro);
  EXPECT_EQ(communication(4, kSlowSum, true), 2 * 1400 * kMicro);
  EXPECT_EQ(communication(8, kSlowSum, true), 2600 * kMicro);
  EXPECT_EQ(communication(1, kSlowSum, false), 8 * 500 * kMicro);
  EXPECT_EQ(communication(4, kSlowSum, false), 2 * 1700 * kMicro);
  EXPECT_EQ(communication(8, kSlowSum, false), 3300 * kMicro);
}

}  // namespace
}  // namespace steptime
