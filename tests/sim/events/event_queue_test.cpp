#include "sim/events/event_queue.h"

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// The queue beside an ordered set, which must agree about every event.
class Pair {
 public:
  void push(std::int64_t time) {
    queue_.push({time, order_, static_cast<std::uint32_t>(order_)});
    set_.emplace(time, order_++);
  }
  /// Returns the time of the first event.
  std::int64_t pop() {
    const EventQueue::Event first = queue_.front();
    EXPECT_EQ(std::pair(first.time, first.order), *set_.begin());
    EXPECT_EQ(first.slot, first.order);
    queue_.pop();
    set_.erase(set_.begin());
    return first.time;
  }
  void drain() {
    while (!set_.empty() && !testing::Test::HasFailure())
      pop();
    EXPECT_TRUE(queue_.empty());
  }
  std::size_t size() const { return set_.size(); }

 private:
  EventQueue queue_;
  std::set<std::pair<std::int64_t, std::uint64_t>> set_;
  std::uint64_t order_ = 0;
};

TEST(EventQueue, KeepsTheOrderOfManyEventsAtRandomTimes) {
  Pair pair;
  std::mt19937_64 random(1);
  for (int i = 0; i < 50'000; ++i)
    pair.push(static_cast<std::int64_t>(random() % 1'000'000'000));
  pair.drain();
}

TEST(EventQueue, KeepsTheOrderWhileEventsScheduleOthers) {
  // Delays over ten orders of magnitude, many of them zero, at 100 to 20,000 pending events.
  for (const std::size_t pending : {100u, 3'000u, 20'000u}) {
    Pair pair;
    std::mt19937_64 random(pending);
    const auto delay = [&]() -> std::int64_t {
      const std::uint64_t bits = random();
      return bits % 4 == 0 ? 0 : static_cast<std::int64_t>(bits >> (24 + bits % 36));
    };
    while (pair.size() < pending)
      pair.push(delay());
    for (int i = 0; i < 30'000; ++i) {
      const std::int64_t now = pair.pop();
      for (std::uint64_t made = random() % 3; made > 0 || pair.size() == 0; --made) {
        pair.push(now + delay());
        if (made == 0) break;
      }
    }
    pair.drain();
  }
}

TEST(EventQueue, KeepsTheOrderOfClusters) {
  // Bursts that are nanoseconds to hours wide, so that rungs are made within buckets, and events
  // that follow soon after others while these are taken out.
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Pair pair;
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t limit) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    };
    for (int burst = 0; burst < 6; ++burst) {
      const std::int64_t begin = below(1'000'000'000'000);
      const std::int64_t width = std::int64_t{1} << (3 + below(40));
      for (std::int64_t left = below(6'000); left > 0; --left)
        pair.push(begin + below(width));
    }
    for (int left = 15'000; left > 0 && pair.size() > 0; --left) {
      const std::int64_t now = pair.pop();
      if (below(2) == 0) pair.push(now + below(std::int64_t{1} << (3 + below(36))));
    }
    pair.drain();
  }
}

TEST(EventQueue, ManyEventsMayBeAtOneTime) {
  Pair pair;
  for (int i = 0; i < 10'000; ++i)
    pair.push(7);
  for (int i = 0; i < 10'000; ++i)
    pair.push(i % 3 == 0 ? 7 : 8);
  for (int i = 0; i < 5'000; ++i)
    pair.pop();
  for (int i = 0; i < 5'000; ++i)
    pair.push(8);
  pair.drain();
}

TEST(EventQueue, TakesTheLastTimeOfAll) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  Pair pair;
  pair.push(kLast);
  for (int i = 0; i < 10'000; ++i)
    pair.push(i);
  pair.push(kLast);
  pair.push(kLast - 1);
  pair.drain();
}

}  // namespace
}  // namespace steptime
