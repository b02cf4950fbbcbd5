#include "sim/layouts/link_timetable.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

Time at(std::int64_t ps) {
  return Time{Duration(ps)};
}

// [10, 30) and [30, 35) touch, [29, 34) would begin a picosecond too soon.
TEST(LinkTimetable, LinesMeetWhereBothAreOnALink) {
  const Network::Loads loads{{0}, {1}};
  const Network::Loads others{{1}, {2}};
  for (const std::int64_t since : {30, 29}) {
    LinkTimetable timetable(3);
    LinkTimetable::Line& line = timetable.add(loads);
    line.take(at(0), Duration(5));
    line.take(at(10), Duration(20));
    timetable.add(others).take(at(since), Duration(5));
    EXPECT_EQ(timetable.meet(), since == 29);
  }
}

// [0, 5) and [5, 10) do not meet; [9, 12) then meets the latter.
TEST(LinkTimetable, AskedAgainItSeesWhatWasTakenSince) {
  LinkTimetable timetable(1);
  LinkTimetable::Line& one = timetable.add(Network::Loads{{0}});
  LinkTimetable::Line& other = timetable.add(Network::Loads{{0}});
  one.take(at(0), Duration(5));
  other.take(at(5), Duration(5));
  EXPECT_FALSE(timetable.meet());
  one.take(at(9), Duration(3));
  EXPECT_TRUE(timetable.meet());
}

TEST(LinkTimetable, LinesOfOtherLinksDoNotMeetNorWhatTakesNoTime) {
  LinkTimetable timetable(3);
  timetable.add(Network::Loads{{0}}).take(at(0), Duration(10));
  timetable.add(Network::Loads{{1}, {2}}).take(at(0), Duration(10));
  timetable.add(Network::Loads{{0}}).take(at(5), Duration(0));
  EXPECT_FALSE(timetable.meet());
}

// Link 1 works 3 s for one line and 1 s for the other, of 8 s.
TEST(LinkTimetable, TheBusiestLinkHasAllLines) {
  LinkTimetable timetable(2);
  constexpr Duration kSecond{1'000'000'000'000};
  timetable.add(Network::Loads{{0}, {1}}).take(at(0), 3 * kSecond);
  timetable.add(Network::Loads{{1}}).take(at(0) + 4 * kSecond, kSecond);
  EXPECT_DOUBLE_EQ(timetable.busiest(8), 0.5);
}

// A thousand times 1.6 ns one behind the other: no nanosecond is counted that nothing works in.
TEST(LinkTimetable, ALinkThatAlwaysWorksIsBusyAllTheTime) {
  LinkTimetable timetable(1);
  LinkTimetable::Line& line = timetable.add(Network::Loads{{0}});
  for (int i = 0; i < 1000; ++i)
    line.take(at(1600 * i), Duration(1600));
  EXPECT_DOUBLE_EQ(timetable.busiest(1.6e-6), 1);
}

}  // namespace
}  // namespace steptime
