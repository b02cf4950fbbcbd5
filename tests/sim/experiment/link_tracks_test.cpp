#include "sim/experiment/link_tracks.h"

#include "sim/events/timeline_load.h"
#include "sim/experiment/simulate.h"
#include "tests/support/simulated.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Timeline drawn(const std::string& patch, const Timeline::Window& window = {}) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, patch);
  Timeline timeline(window);
  simulate(e, timeline);
  e.execution->draw_links(e, timeline);
  return timeline;
}

constexpr const char* kRing =
    R"("strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}})";

/// A ring over four GPUs on a switch of 1 GB/s: each of its 6 rounds takes 10 us and a quarter of
/// the bytes, so that each port sends 3/2 of them in the time of an all-reduce.
TEST(LinkTracks, OfMessagesHaveTheBytesOfEveryLink) {
  const Timeline timeline = drawn(std::string(R"({"cluster": {"nodes": 1, "gpus_per_node": 4,
      "intra_node": {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
      "run": {"fidelity": "message"}, )") +
                                  kRing + "}");
  ASSERT_EQ(timeline.tracks().size(), 2U + 8U);  // compute, all-reduce, two for each port
  EXPECT_EQ(timeline.tracks()[2].actor, "link gpu0 to switch");
  EXPECT_EQ(timeline.tracks()[2].name, "carries");
  const auto& spans = timeline.spans();
  ASSERT_EQ(spans.size(), 9U + 3U * 8U);
  // The last is of conv, 1 MB: 6 (10 us + 250 us) from 42 ms on.
  const Timeline::Span& last = spans.back();
  EXPECT_EQ(last.name, "conv");
  EXPECT_EQ(last.details.bytes, 1'500'000);
  EXPECT_EQ(last.details.bucket, 2);
  EXPECT_EQ(last.end - last.start, std::chrono::microseconds(1560));
  const auto conv = std::find_if(spans.begin(), spans.end(),
                                 [&](const auto& span) { return span.name == last.name; });
  EXPECT_EQ(conv->start, last.start);
  EXPECT_EQ(conv->details.flow, last.details.flow);
  // Its counter: 1.5 MB in 1.56 ms.
  Timeline counted = timeline;
  add_load(counted);
  const auto most = std::max_element(
      counted.values().begin(), counted.values().end(), [](const auto& a, const auto& b) {
        return a.time < b.time || (a.time == b.time && a.value < b.value);
      });
  EXPECT_NEAR(most->value, 0, 1e-9);  // nothing is under way at the end
  EXPECT_TRUE(std::any_of(counted.values().begin(), counted.values().end(), [&](const auto& value) {
    return counted.tracks()[value.track].actor == "link gpu0 to switch" &&
           std::abs(value.value - 1.5 / 1.56) < 1e-6;
  }));
}

/// Between four nodes: 2 x 3 start-ups of 10 us, and then 3/2 of the bytes.
TEST(LinkTracks, OfClosedFormsHaveTheirStages) {
  const Timeline timeline = drawn(std::string("{") + kRing + "}");
  ASSERT_EQ(timeline.tracks().size(), 3U);
  EXPECT_EQ(timeline.tracks()[2].actor, "links between nodes");
  const Timeline::Span& last = timeline.spans().back();
  EXPECT_EQ(last.start - Time{}, std::chrono::microseconds(42'060));
  EXPECT_EQ(last.end - last.start, std::chrono::microseconds(1500));
  EXPECT_EQ(last.details.bytes, -1);
}

TEST(LinkTracks, NoneWhereNothingIsKnownOfLinks) {
  EXPECT_EQ(drawn("{}").tracks().size(), 2U);  // a measured line
  EXPECT_EQ(drawn(std::string("{") + kRing + "}", {.first_rank = 1}).tracks().size(), 2U);
  const Timeline trained =
      drawn(std::string(R"({"run": {"variation": {"jitter": 0.1}}, )") + kRing + "}");
  for (const Timeline::Track& track : trained.tracks())
    EXPECT_NE(track.name, "carries");
}

}  // namespace
}  // namespace steptime
