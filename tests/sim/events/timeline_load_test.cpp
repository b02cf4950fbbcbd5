#include "sim/events/timeline_load.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(TimelineLoad, AddsUpWhatOverlaps) {
  //          0    1    2    3 us
  // A        2 kB at 1 GB/s: 0 to 2
  // B             4 kB at 2 GB/s: 1 to 3
  // load     1    3    2    0
  Timeline timeline;
  const auto sent = timeline.add_track("push", "rank 0");
  const auto compute = timeline.add_track("compute", "rank 0");
  const auto at = [](int us) { return Time(Duration(us * 1'000'000)); };
  timeline.add_span(sent, "A", at(0), at(2), {.bytes = 2000});
  timeline.add_span(sent, "B", at(1), at(3), {.bytes = 4000});
  timeline.add_span(sent, "a request", at(1), at(2));
  timeline.add_span(compute, "backward", at(0), at(3), {.bytes = 1});
  add_load(timeline);
  ASSERT_EQ(timeline.tracks().size(), 3U);
  EXPECT_TRUE(timeline.tracks()[2].is_counter);
  EXPECT_EQ(timeline.tracks()[2].actor, "rank 0");
  ASSERT_EQ(timeline.values().size(), 4U);
  const double load[] = {1, 3, 2, 0};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(timeline.values()[static_cast<std::size_t>(i)].time, at(i));
    EXPECT_NEAR(timeline.values()[static_cast<std::size_t>(i)].value, load[i], 1e-9);
  }
}

}  // namespace
}  // namespace steptime
