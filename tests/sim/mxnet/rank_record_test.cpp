// Is time sorted into hidden, exposed and idle, and the steady state found?
#include "sim/mxnet/rank_record.h"

#include <utility>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kSecond{1'000'000'000'000};

/// A step: forward 1 s, backward 2 s, all-reduce of the only key from `start` to `end` after the
/// start of the step, next step at 5 s.
struct Steps {
  TrainingGraph graph{.segments = {{"f", kSecond, false, {0}}, {"b", 2 * kSecond, true, {0}}},
                      .forward_segments = 1,
                      .keys = {{"w", {}, {}}}};
  Engine clock;
  InputPipeline input{};
  RankRecord recorder{clock, graph, std::nullopt, &input};

  void at(std::int64_t second, auto action) {
    clock.at(Time(second * kSecond), Phase::kNormal, action);
  }
  void play(std::int64_t steps, std::int64_t start, std::int64_t end) {
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int64_t t = 5 * s;
      RankRecord* r = &recorder;
      at(t, [=] { r->segment_started(0, s, s == 0 ? std::nullopt : std::optional(0)); });
      at(t + 1, [=] {
        r->segment_ended();
        r->segment_started(1, s, std::nullopt);
      });
      at(t + 3, [=] { r->segment_ended(); });
      at(t + start, [=] { r->collective_started({0, s}); });
      at(t + end, [=] { r->collective_ended({0, s}); });
    }
    clock.run();
  }
};

//            0  1     3  4  5
// compute    [F][ B  ]
// all-reduce       [     ]          2 to 4: 1 s hidden under B, 1 s exposed; 4 to 5: idle
TEST(RankRecord, SortsTheTime) {
  Steps steps;
  steps.play(5, 2, 4);
  EXPECT_EQ(steps.recorder.step_time(), 5 * kSecond);
  const Attribution a = steps.recorder.attribution();
  EXPECT_EQ(a.hidden_under_backward, kSecond);
  EXPECT_EQ(a.hidden_under_forward, Duration{});
  EXPECT_EQ(a.exposed, kSecond);
  EXPECT_EQ(a.idle, kSecond);
  EXPECT_TRUE(a.causes.empty()) << "nobody keeps them";
  ASSERT_EQ(a.waits.size(), 1u);
  EXPECT_EQ(a.waits[0].first, "exchange and update of w");
  EXPECT_EQ(a.waits[0].second, 2 * kSecond);
  EXPECT_EQ(a.transient, Duration{});
  EXPECT_TRUE(steps.recorder.is_complete());
  EXPECT_EQ(steps.recorder.key_times()[0].ready, 3 * kSecond);
  EXPECT_EQ(steps.recorder.key_times()[0].start, 2 * kSecond);
  EXPECT_EQ(steps.recorder.key_times()[0].end, 4 * kSecond);
}

TEST(RankRecord, StopsInTheSteadyState) {
  Steps steps;
  EXPECT_TRUE(steps.recorder.wants_step(0));
  steps.play(4, 2, 4);  // three steps of 5 s are known
  EXPECT_FALSE(steps.recorder.wants_step(4));
  EXPECT_TRUE(steps.recorder.wants_step(3)) << "the same answer for every rank";
}

//            0  1     3  4  5
// compute    [F][ B  ]
// all-reduce       [     ]
// samples             .....         missing from 3.5 s on, but other things until then
TEST(RankRecord, KnowsWhatWaitsForSamplesOnly) {
  Steps steps;
  const auto at_ms = [&](std::int64_t ms, auto action) {
    steps.clock.at(Time(ms * kSecond / 1000), Phase::kNormal, action);
  };
  for (std::int64_t s = 0; s < 4; ++s) {
    at_ms(5000 * s + 3500, [&] { steps.recorder.waits_for_samples(); });
    at_ms(5000 * s + 4750, [&] { steps.recorder.samples_came(); });
  }
  steps.play(5, 2, 4);
  const Attribution a = steps.recorder.attribution();
  EXPECT_EQ(a.input, kSecond * 5 / 4);
  EXPECT_EQ(a.exposed, kSecond);  // whatever else is missing
  EXPECT_EQ(a.idle, kSecond);
}

/// A step's first segment begins because of what runs then: a GPU's work of 3 s, and samples that
/// are there 2 s after that, of which it has waited for the last one only.
TEST(RankRecord, TellsWhatLedFromOneStepToTheNext) {
  struct Chain {
    Causes causes;
    Engine clock{&causes};
    TrainingGraph graph{.segments = {{"f", kSecond, false, {}}}, .forward_segments = 1};
    RankRecord recorder{clock, graph, std::nullopt};
    Reason work = clock.reason("work", "GPU");
    std::int64_t step = 0;

    void go_on() {
      recorder.segment_started(0, step++, std::nullopt);
      clock.at(clock.until(clock.present(), 3 * kSecond, work), Phase::kNormal,
               [this] { recorder.segment_ended(); });
      clock.at(clock.now() + 4 * kSecond, Phase::kNormal, [this] { recorder.waits_for_samples(); });
      clock.at(clock.until(clock.present(), 5 * kSecond, recorder.input()), Phase::kNormal, [this] {
        recorder.samples_came();
        if (recorder.wants_step(step)) go_on();
      });
    }
  } chain;
  chain.clock.at(When{}, Phase::kNormal, [&] { chain.go_on(); });
  chain.clock.run();
  EXPECT_EQ(chain.recorder.step_time(), 5 * kSecond);
  const auto causes = chain.recorder.attribution(&chain.causes).causes;
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].seconds, 4) << causes[0].cause;  // whatever led to the wait
  EXPECT_EQ(causes[1].cause, "input");
  EXPECT_EQ(causes[1].resource, "input pipeline");
  EXPECT_EQ(causes[1].seconds, 1);
}

// Steps of 5, 6 and 7 s in turn never take the same time. Of 64 those are measured that begin from
// the 32nd on and end before the last: ten times 18 s, and the 62nd and 63rd, of 6 and 7 s.
TEST(RankRecord, StepsThatDoNotSettleAreAMean) {
  Steps steps;
  std::int64_t start = 0;
  for (std::int64_t s = 0; steps.recorder.wants_step(s); ++s) {
    ASSERT_LT(s, 64);
    steps.at(start, [&steps, s] { steps.recorder.segment_started(0, s, std::nullopt); });
    start += 5 + s % 3;
    steps.clock.run();
  }
  const Attribution a = steps.recorder.attribution();
  EXPECT_FALSE(a.settles);
  EXPECT_EQ(a.steps, 64);
  EXPECT_EQ(a.transient_steps, 31);
  EXPECT_EQ(a.transient, Duration{});
  EXPECT_EQ(steps.recorder.step_time(), Duration(193 * kSecond) / 32);
}

/// Six steps, of 5 s from the second one on; the first one takes longer by what it is above that.
TEST(RankRecord, ATransientIsNeverShorterThanSteadySteps) {
  for (const auto& [first, longer] : {std::pair(3, 0), std::pair(5, 0), std::pair(7, 2)}) {
    Steps steps;
    for (std::int64_t s = 0; s < 6; ++s) {
      steps.at(s == 0 ? 0 : first + 5 * (s - 1),
               [&steps, s] { steps.recorder.segment_started(0, s, std::nullopt); });
    }
    steps.clock.run();
    EXPECT_EQ(steps.recorder.step_time(), 5 * kSecond);
    EXPECT_EQ(steps.recorder.attribution().transient, longer * kSecond) << first;
  }
}

TEST(RankRecord, StepsShorterThanTheInputAreNotSteady) {
  // Three of 5 s, where samples take 6 s: the fourth begins at 15 s, and what the pipeline was
  // ahead, as steps before took longer, would be used up in the end. So the next samples come 6 s
  // later.
  Steps steps;
  steps.input = InputPipeline(6 * kSecond);
  EXPECT_EQ(steps.input.ready(4), Time(24 * kSecond));
  steps.play(4, 2, 4);
  EXPECT_EQ(steps.input.ready(4), Time(21 * kSecond));
  EXPECT_TRUE(steps.recorder.wants_step(4));
}

TEST(RankRecord, APeriodIsSeveralSteps) {
  // Steps of 1 and 2 s in turn, in the second of which the key is reduced: 1.5 s.
  Steps steps;
  RankRecord recorder(steps.clock, steps.graph, std::nullopt, nullptr, 2);
  for (std::int64_t s = 0; s < 8; ++s) {
    steps.at(s / 2 * 3 + s % 2, [&recorder, s] { recorder.segment_started(0, s, std::nullopt); });
    if (s % 2 == 0) continue;
    steps.at(s / 2 * 3 + 2, [&recorder, s] { recorder.collective_started({0, s}); });
    steps.at(s / 2 * 3 + 3, [&recorder, s] { recorder.collective_ended({0, s}); });
  }
  steps.clock.run();
  EXPECT_EQ(recorder.step_time(), kSecond * 3 / 2);
  EXPECT_TRUE(recorder.is_complete());
  EXPECT_FALSE(recorder.wants_step(8));
  EXPECT_EQ(recorder.key_times()[0].end, 2 * kSecond);  // after the start of the second step
  EXPECT_FALSE(RankRecord(steps.clock, steps.graph, 3, nullptr, 2).wants_step(8 + 4 + 1));
  EXPECT_TRUE(RankRecord(steps.clock, steps.graph, 3, nullptr, 2).wants_step(8 + 4));
}

TEST(RankRecord, WithJitterItRunsAsManyAsItIsTold) {
  Steps steps;
  RankRecord recorder(steps.clock, steps.graph, 10);
  EXPECT_TRUE(recorder.wants_step(14));
  EXPECT_FALSE(recorder.wants_step(15));  // 4 to fill the pipeline, 10, and one to end the tenth
}

}  // namespace
}  // namespace steptime
