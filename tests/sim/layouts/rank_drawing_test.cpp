#include "sim/layouts/rank_drawing.h"

#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::int64_t count_of(const Timeline& timeline, const std::string& lane, const std::string& name) {
  return std::count_if(timeline.spans().begin(), timeline.spans().end(), [&](const auto& span) {
    return timeline.tracks()[span.track].name == lane && span.name.starts_with(name);
  });
}

/// Two places, two replicas, three micro-batches; activations of 5 B.
LayoutPlan two_places() {
  ModelWork work = work_of_blocks(2, {8, 8, 4}, 2);
  for (LayerWork& layer : work.layers)
    layer.kept = {1'000'000'000};
  work.exchanged.hidden = {5};
  return plan_of({.degrees = {1, 1, 2, 2}, .micro_batches = 3, .costs = costs_of(Duration(3), 0)},
                 std::move(work));
}

// Each place has three forward and three backward passes; the first sends three activations, the
// second three gradients; each sums a bucket of gradients.
TEST(RankDrawing, ShowsPassesExchangesAndMicroBatches) {
  Timeline timeline;
  play_layout(two_places(), &timeline);
  EXPECT_EQ(count_of(timeline, "compute", "forward"), 2 * 3);
  EXPECT_EQ(count_of(timeline, "compute", "backward"), 2 * 3);
  EXPECT_EQ(count_of(timeline, "pipeline", "activations"), 3);
  EXPECT_EQ(count_of(timeline, "pipeline", "gradients"), 3);
  EXPECT_EQ(count_of(timeline, "shards", "all-reduce"), 2);
  EXPECT_EQ(timeline.spans().front().details.tensors, "micro-batch 0, chunk 0");
}

// 1F1B with two places: the first holds two micro-batches' activations of 1 GB at most. Weights and
// gradients, of 4 B each, are nothing beside them.
TEST(RankDrawing, ShowsMemoryAsItIsHeld) {
  Timeline timeline;
  play_layout(two_places(), &timeline);
  double most = 0;
  double last = -1;
  for (const Timeline::Value& value : timeline.values()) {
    const Timeline::Track& track = timeline.tracks()[value.track];
    if (track.name != "memory" || track.actor != "rank 0") continue;
    EXPECT_EQ(track.unit, "GB");
    most = std::max(most, value.value);
    last = value.value;
  }
  EXPECT_NEAR(most, 2, 1e-6);
  EXPECT_NEAR(last, 0, 1e-6);
}

TEST(RankDrawing, ShowsTheRanksThatAreAskedFor) {
  TimelineWindow window;
  window.last_rank = 0;
  Timeline timeline(window);
  play_layout(two_places(), &timeline);
  std::set<std::string> actors;
  for (const Timeline::Track& track : timeline.tracks())
    actors.insert(track.actor);
  EXPECT_EQ(actors, std::set<std::string>{"rank 0"});
}

}  // namespace
}  // namespace steptime
