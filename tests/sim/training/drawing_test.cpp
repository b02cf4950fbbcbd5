#include "sim/training/drawing.h"

#include "sim/training/play.h"
#include "tests/support/training.h"

#include <algorithm>
#include <string>
#include <vector>

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

TEST(Drawing, ShowsPassesMessagesAndThreadsOfServers) {
  const Experiment e = training_experiment(
      strategy(servers(1, R"(, "request_time": "1 ms")"), kSgd), 1, R"({"steps": 1})");
  Timeline timeline;
  play_programs(plan_of_all_steps(e), 1, nullptr, nullptr, 0, &timeline);
  EXPECT_EQ(bars(timeline), (std::vector<std::string>{
                                "rank 0 compute gradients: two +1", "rank 0 compute: backward",
                                "rank 0 compute: forward", "rank 0 pull: two +1",
                                "rank 0 push: two +1", "server 0 thread: push two +1"}));
}

TEST(Drawing, ABucketsSpansAreOneFlow) {
  const Experiment e = training_experiment(strategy(servers(1), kSgd), 1, R"({"steps": 2})");
  Timeline timeline;
  play_programs(plan_of_all_steps(e), 1, nullptr, nullptr, 0, &timeline);
  std::vector<std::uint64_t> flows;
  for (const Timeline::Span& span : timeline.spans()) {
    if (span.details.flow != 0) flows.push_back(span.details.flow);
  }
  // Gradients, push and pull in each of two steps.
  ASSERT_EQ(flows.size(), 6u);
  EXPECT_EQ(std::count(flows.begin(), flows.end(), flow_of(0, 0)), 3);
  EXPECT_EQ(std::count(flows.begin(), flows.end(), flow_of(0, 1)), 3);
}

}  // namespace
}  // namespace steptime
