#include "sim/training/drawing.h"

#include "sim/training/play.h"
#include "tests/support/fakes.h"
#include "tests/support/played_step.h"
#include "tests/support/training.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// "rank 0 compute: forward", sorted.
std::vector<std::string> bars(const Timeline& timeline) {
  std::vector<std::string> all;
  for (const Timeline::Span& span : timeline.spans()) {
    const Timeline::Track& track = timeline.tracks()[span.track];
    all.push_back(track.actor + " " + track.name + ": " + span.name);
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Drawing, ShowsLayersMessagesAndThreadsOfServers) {
  const Experiment e = training_experiment(
      strategy(servers(1, R"(, "request_time": "1 ms")"), kSgd), 1, R"({"steps": 1})");
  Timeline timeline;
  play_programs(plan_of_all_steps(e), 1, nullptr, &timeline);
  EXPECT_EQ(bars(timeline),
            (std::vector<std::string>{"rank 0 compute: one backward", "rank 0 compute: one forward",
                                      "rank 0 compute: two backward", "rank 0 compute: two forward",
                                      "rank 0 pull: two +1", "rank 0 push: two +1",
                                      "server 0 thread: push two +1"}));
}

TEST(Drawing, SeveralWorkersHavePassesAndGradients) {
  const Experiment e = training_experiment(strategy(servers(1), kSgd), 2, R"({"steps": 1})");
  Timeline timeline;
  play_programs(plan_of_all_steps(e), 1, nullptr, &timeline);
  std::vector<std::string> of_each;
  for (const std::string rank : {"rank 0 ", "rank 1 "}) {
    for (const char* bar : {"compute gradients: two +1", "compute: backward", "compute: forward",
                            "pull: two +1", "push: two +1"})
      of_each.push_back(rank + bar);
  }
  EXPECT_EQ(bars(timeline), of_each);
}

constexpr Duration kMs{1'000'000'000};

/// "lane name start-end" of every span, times in ms, in the order of recording.
std::vector<std::string> spans_of(const Timeline& timeline) {
  std::vector<std::string> texts;
  for (const Timeline::Span& s : timeline.spans()) {
    texts.push_back(fmt::format("{} {} {}-{}", timeline.tracks()[s.track].name, s.name,
                                since_start(s.start) / kMs, since_start(s.end) / kMs));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

//            0      4    6       9  10
//  compute   |forward| g1 |  g2   |g3|
//  comm                   | g1 |   | g2 | g3 |      T = 1 ms + 0.1 ms/B
//                         6    8   9    12   13
const std::vector<Gradient> kGradients{{2 * kMs, 10}, {3 * kMs, 20}, {1 * kMs, 0}};

TEST(Drawing, AWorkerThatStandsForAllIsDrawnLayerByLayer) {
  const auto workload = std::make_shared<Workload>(workload_of(kGradients, 4 * kMs));
  const auto units = workload->units(Granularity::kTensor);
  const LinearCollective collective = line(1 * kMs, kMs / 10);
  const StepPlan plan = plan_step(*workload, units, {{1, 1, 1}}, collective, 2);
  Timeline timeline;
  EXPECT_EQ(played_step(plan, 2, &timeline, workload, units).step, 13 * kMs);
  EXPECT_EQ(spans_of(timeline),
            (std::vector<std::string>{
                "all-reduce g1 19-21", "all-reduce g1 6-8", "all-reduce g2 22-25",
                "all-reduce g2 9-12", "all-reduce g3 12-13", "all-reduce g3 25-26",
                "compute forward 0-4", "compute forward 13-17", "compute g1 backward 17-19",
                "compute g1 backward 4-6", "compute g2 backward 19-22", "compute g2 backward 6-9",
                "compute g3 backward 22-23", "compute g3 backward 9-10"}));
}

/// Forward passes are drawn layer by layer where their times are known. Kernels take twice as long
/// beside collectives: g1 is there after 5 ms, its all-reduce of 2 ms ends at 7 with 1 of the 3 ms
/// of g2 done, which ends at 9; there the next all-reduce of 3 ms begins, beside which the 1 ms of
/// g3 takes 2.
TEST(Drawing, LayersThatCollectivesSlowDownAreDrawnAsLongAsTheyTake) {
  Workload workload = workload_of(kGradients);
  workload.trace.forward_total.reset();
  for (Layer& layer : workload.trace.layers)
    layer.forward = 1 * kMs;
  workload.overlap = make<Overlap>(R"({"type": "factors", "compute": 2})");
  const auto shared = std::make_shared<Workload>(workload);
  const auto units = shared->units(Granularity::kTensor);
  const LinearCollective collective = line(1 * kMs, kMs / 10);
  const StepPlan plan = plan_step(*shared, units, {{1, 1, 1}}, collective, 2);
  Timeline timeline;
  played_step(plan, 1, &timeline, shared, units);
  EXPECT_EQ(spans_of(timeline),
            (std::vector<std::string>{
                "all-reduce g1 5-7", "all-reduce g2 9-12", "all-reduce g3 12-13",
                "compute g1 backward 3-5", "compute g1 forward 2-3", "compute g2 backward 5-9",
                "compute g2 forward 1-2", "compute g3 backward 9-11", "compute g3 forward 0-1"}));
}

TEST(Drawing, ABucketsSpansAreOneFlow) {
  const Experiment e = training_experiment(strategy(servers(1), kSgd), 1, R"({"steps": 2})");
  Timeline timeline;
  play_programs(plan_of_all_steps(e), 1, nullptr, &timeline);
  std::vector<std::uint64_t> flows;
  for (const Timeline::Span& span : timeline.spans()) {
    if (span.details.flow != 0) flows.push_back(span.details.flow);
  }
  // The gradients of two layers, push and pull in each of two steps.
  ASSERT_EQ(flows.size(), 8u);
  EXPECT_EQ(std::count(flows.begin(), flows.end(), flow_of(0, 0)), 4);
  EXPECT_EQ(std::count(flows.begin(), flows.end(), flow_of(0, 1)), 4);
}

}  // namespace
}  // namespace steptime
