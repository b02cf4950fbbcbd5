// Do start-ups overlap and transfers share?
#include "sim/events/shared_channel.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kSecond{1'000'000'000'000};

struct Channel {
  Engine clock;
  SharedChannel channel{clock};
  std::vector<Time> ends = std::vector<Time>(4);

  void start_at(Duration time, Duration startup, Duration work, std::uint64_t which) {
    clock.at(Time(time), Phase::kNormal, [=, this] {
      channel.start(startup, work,
                    {[](void* self, std::uint64_t i) {
                       auto* c = static_cast<Channel*>(self);
                       c->ends[i] = c->clock.now();
                     },
                     this, which});
    });
  }
};

TEST(SharedChannel, AloneItCostsStartupAndWorkExactly) {
  Channel c;
  c.start_at(Duration(3), Duration(7), Duration(11), 0);
  c.start_at(Duration(100), Duration(0), Duration(0), 1);
  c.clock.run();
  EXPECT_EQ(c.ends[0], Time(Duration(21)));
  EXPECT_EQ(c.ends[1], Time(Duration(100)));
}

// 0: work from 1 s; 1: from 2 s. Alone until 2 s (1 of 3 s done), then both at half: 1 needs 1 s
// and ends at 4 s, when 0 has 1 s left and ends at 5 s.
TEST(SharedChannel, SharesEqually) {
  Channel c;
  c.start_at({}, kSecond, 3 * kSecond, 0);
  c.start_at(kSecond, kSecond, kSecond, 1);
  c.clock.run();
  EXPECT_EQ(c.ends[1], Time(4 * kSecond));
  EXPECT_EQ(c.ends[0], Time(5 * kSecond));
}

// Three alike: start-ups overlap, the work takes three times as long.
TEST(SharedChannel, StartupsOverlap) {
  Channel c;
  for (std::uint64_t i = 0; i < 3; ++i)
    c.start_at({}, 5 * kSecond, kSecond, i);
  c.clock.run();
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_EQ(c.ends[i], Time(8 * kSecond));
}

}  // namespace
}  // namespace steptime
