// event_step: the step played on the event engine. That it agrees with closed_step on random
// workloads is tests/property/step_test.cpp's business.
#include "sim/core/error.h"
#include "sim/step/step.h"
#include "tests/support/fakes.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};

/// "track name start-end" of every span, times in ms, in the order of recording.
std::vector<std::string> spans_of(const Timeline& timeline) {
  std::vector<std::string> texts;
  for (const Timeline::Span& s : timeline.spans()) {
    texts.push_back(fmt::format("{} {} {}-{}", timeline.tracks()[s.track].name, s.name,
                                since_start(s.start) / kMs, since_start(s.end) / kMs));
  }
  return texts;
}

//            0      4    6       9  10
//  compute   |forward| g1 |  g2   |g3|
//  comm                   | g1 |   | g2 | g3 |      T = 1 ms + 0.1 ms/B
//                         6    8   9    12   13
const std::vector<Gradient> kGradients{{2 * kMs, 10}, {3 * kMs, 20}, {1 * kMs, 0}};
const Workload kWorkload = workload_of(kGradients, 4 * kMs);
const LinearCollective kCollective = line(1 * kMs, kMs / 10);

StepTimes play(const Workload& workload, const BucketPlan& buckets, std::int64_t steps,
               Timeline* timeline = nullptr, std::int64_t workers = 2) {
  const auto units = workload.units(Granularity::kTensor);
  return event_step(plan_step(workload, units, buckets, kCollective, workers), workload, units,
                    steps, timeline);
}
StepTimes closed(const Workload& workload, const BucketPlan& buckets, std::int64_t workers = 2) {
  const auto units = workload.units(Granularity::kTensor);
  return closed_step(plan_step(workload, units, buckets, kCollective, workers));
}

TEST(EventStep, PlaysWaitFreeBackpropagation) {
  Timeline timeline;
  const StepTimes times = play(kWorkload, {{1, 1, 1}}, 1, &timeline);
  EXPECT_EQ(times.step, 13 * kMs);
  EXPECT_EQ(times.comm_busy, 6 * kMs);     // 2 + 3 + 1
  EXPECT_EQ(times.exposed_comm, 3 * kMs);  // 13 - 10
  EXPECT_EQ(times, closed(kWorkload, {{1, 1, 1}}));
  EXPECT_EQ(spans_of(timeline),
            (std::vector<std::string>{"compute forward 0-4", "compute g1 backward 4-6",
                                      "compute g2 backward 6-9", "communication g1 (10 B) 6-8",
                                      "compute g3 backward 9-10", "communication g2 (20 B) 9-12",
                                      "communication g3 (0 B) 12-13"}));
}

TEST(EventStep, MergedBucketsSayWhatTheyHold) {
  Timeline timeline;
  play(kWorkload, {{1, 2}}, 1, &timeline);
  EXPECT_EQ(spans_of(timeline).back(), "communication g2 + 1 more (20 B) 10-13");
}

TEST(EventStep, AfterBackwardNothingIsSentEarly) {
  Timeline timeline;
  // 10 + 2 + 3 + 1 = 16
  EXPECT_EQ(play(kWorkload, {.sizes = {1, 1, 1}, .after_backward = true}, 1, &timeline).step,
            16 * kMs);
  for (const Timeline::Span& s : timeline.spans()) {
    if (timeline.tracks()[s.track].name == "communication") {
      EXPECT_GE(since_start(s.start), 10 * kMs);
    }
  }
}

TEST(EventStep, ForwardPassLayerByLayer) {
  Workload w = workload_of(kGradients);
  w.trace.forward_total.reset();
  for (Layer& layer : w.trace.layers)
    layer.forward = 1 * kMs;
  Timeline timeline;
  EXPECT_EQ(play(w, {{3}}, 1, &timeline), closed(w, {{3}}));
  const auto spans = spans_of(timeline);
  EXPECT_EQ(spans[0], "compute g3 forward 0-1");  // layers are in forward order
  EXPECT_EQ(spans[2], "compute g1 forward 2-3");
  EXPECT_EQ(spans[3], "compute g1 backward 3-5");
}

TEST(EventStep, StepsFollowEachOtherWithoutAGap) {
  Timeline timeline;
  const StepTimes last = play(kWorkload, {{1, 1, 1}}, 3, &timeline);
  EXPECT_EQ(last, closed(kWorkload, {{1, 1, 1}}));
  std::vector<std::string> forwards;
  for (const std::string& span : spans_of(timeline)) {
    if (span.find("forward") != std::string::npos) forwards.push_back(span);
  }
  EXPECT_EQ(forwards, (std::vector<std::string>{"compute forward 0-4", "compute forward 13-17",
                                                "compute forward 26-30"}));
}

TEST(EventStep, OneWorkerComputesOnly) {
  EXPECT_EQ(play(kWorkload, {{1, 1, 1}}, 2, nullptr, 1).step, 10 * kMs);
  EXPECT_EQ(play(kWorkload, {{1, 1, 1}}, 2, nullptr, 1), closed(kWorkload, {{1, 1, 1}}, 1));
}

TEST(EventStep, AStepThatTakesNoTimeEnds) {
  const std::vector<Gradient> nothing{{{}, 0}, {{}, 0}};
  const Workload w = workload_of(nothing);
  const auto units = w.units(Granularity::kTensor);
  const LinearCollective free = line({}, {});
  for (const bool after_backward : {false, true}) {
    const StepPlan plan =
        plan_step(w, units, {.sizes = {1, 1}, .after_backward = after_backward}, free, 2);
    EXPECT_EQ(event_step(plan, w, units, 3, nullptr), closed_step(plan));
    EXPECT_EQ(closed_step(plan).step, Duration{});
  }
}

TEST(EventStep, ALongTrainOfStepsNeedsNoStack) {
  // A step that takes no time starts its successor at the same instant.
  const Workload w = workload_of(std::vector<Gradient>{{{}, 0}});
  const auto units = w.units(Granularity::kTensor);
  const StepPlan plan = plan_step(w, units, {{1}}, line({}, {}), 2);
  EXPECT_EQ(event_step(plan, w, units, 100'000, nullptr).step, Duration{});
}

// One step of 3e6 s lies within simulated time (9.2e6 s), four of them do not.
TEST(EventStep, StepsBeyondTheRangeOfTimeAreAnInputError) {
  const Workload slow = workload_of(kGradients, 3'000'000'000 * kMs);
  EXPECT_NO_THROW(play(slow, {{3}}, 3));
  EXPECT_THROW(play(slow, {{3}}, 4), InputError);
}

}  // namespace
}  // namespace steptime
