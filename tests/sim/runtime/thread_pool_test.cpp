// In which order do threads take operations that are ready?
#include "sim/runtime/thread_pool.h"

#include "sim/core/random.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Order = std::vector<std::uint32_t>;

void take(ThreadPool& pool, Order& order) {
  while (const auto taken = pool.next_taken())
    order.push_back(taken->operation);
}

/// `count` operations of one priority become ready, and `threads` are idle after `busy` others.
Order of_equals(std::uint32_t count, std::int64_t threads, PoolOrder kind, bool all_busy) {
  ThreadPool pool(threads, kind);
  constexpr std::uint32_t kOther = 1000;
  for (std::int64_t i = 0; all_busy && i < threads; ++i)
    pool.add(0, kOther);
  for (std::uint32_t i = 0; i < count; ++i)
    pool.add(-3, i);
  Order order;
  take(pool, order);
  while (pool.end_one())
    take(pool, order);
  std::erase(order, kOther);
  return order;
}

// What std::push_heap and std::pop_heap of libstdc++ make of n equal operations that are all in
// before the first leaves.
TEST(ThreadPool, EqualOnesThatWaitLeaveInTheOrderOfAHeap) {
  const auto waiting = [](std::uint32_t n) { return of_equals(n, 1, PoolOrder::kPriority, true); };
  EXPECT_EQ(waiting(2), (Order{0, 1}));
  EXPECT_EQ(waiting(3), (Order{0, 1, 2}));
  EXPECT_EQ(waiting(4), (Order{0, 2, 1, 3}));
  EXPECT_EQ(waiting(5), (Order{0, 2, 4, 1, 3}));
  EXPECT_EQ(waiting(8), (Order{0, 2, 6, 5, 7, 4, 1, 3}));
}

// What std::priority_queue of libstdc++ makes of them where its order says of equals that each is
// below the other, as ps-lite's threadsafe_pqueue.h does: each that is pushed goes to the top.
TEST(ThreadPool, WhereEqualsAreBelowEachOtherTheLaterGoesFirst) {
  const auto waiting = [](std::uint32_t n) {
    return of_equals(n, 1, PoolOrder::kLaterFirst, true);
  };
  EXPECT_EQ(waiting(2), (Order{1, 0}));
  EXPECT_EQ(waiting(3), (Order{2, 1, 0}));
  EXPECT_EQ(waiting(4), (Order{3, 0, 1, 2}));
  EXPECT_EQ(waiting(8), (Order{7, 0, 4, 1, 2, 3, 5, 6}));
}

// Two idle threads take 0 and 1; the heap has the other six, which leave as 0 2 5 4 1 3 of six do.
TEST(ThreadPool, IdleThreadsTakeAtOnce) {
  EXPECT_EQ(of_equals(8, 2, PoolOrder::kPriority, false), (Order{0, 1, 2, 4, 7, 6, 3, 5}));
  ThreadPool pool(1, PoolOrder::kPriority);
  EXPECT_TRUE(pool.add(-9, 0));
  EXPECT_FALSE(pool.add(5, 1));  // of higher priority, but the thread is taken
  EXPECT_EQ(pool.next_taken().value().operation, 0U);
  EXPECT_FALSE(pool.next_taken());
}

TEST(ThreadPool, HigherPrioritiesFirst) {
  ThreadPool pool(1, PoolOrder::kPriority);
  pool.add(0, 99);
  const std::vector<std::int32_t> priorities{-3, 7, -4, 0, 8};
  for (std::uint32_t i = 0; i < 5; ++i)
    pool.add(priorities[i], i);
  Order order;
  do {
    take(pool, order);
  } while (pool.end_one());
  EXPECT_EQ(order, (Order{99, 4, 1, 3, 0, 2}));
}

TEST(ThreadPool, FifoKnowsNoPriority) {
  EXPECT_EQ(of_equals(5, 2, PoolOrder::kFifo, false), (Order{0, 1, 2, 3, 4}));
  // Against a queue of the standard library, with threads that come and go.
  const RandomStream random(7, Purpose::kTest);
  ThreadPool pool(2, PoolOrder::kFifo);
  std::deque<std::uint32_t> ready;
  int running = 0;
  Order taken;
  Order expected;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    if (random.uniform(0, i, 0) < 0.5) {
      pool.add(static_cast<std::int32_t>(i % 7), i);
      ready.push_back(i);
    } else if (running > 0) {
      pool.end_one();
      --running;
    }
    for (; running < 2 && !ready.empty(); ++running) {
      expected.push_back(ready.front());
      ready.pop_front();
    }
    take(pool, taken);
    ASSERT_EQ(taken, expected) << i;
  }
}

// Against the definition: of what waits, none that leaves is below one that stays.
TEST(ThreadPool, IsAHeapWhateverComesAndGoes) {
  const RandomStream random(8, Purpose::kTest);
  ThreadPool pool(1, PoolOrder::kPriority);
  std::vector<std::int32_t> priority_of;
  std::vector<bool> waits;
  bool is_busy = false;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    if (random.uniform(0, i, 0) < 0.6) {
      priority_of.push_back(static_cast<std::int32_t>(random.uniform(0, i, 1) * 9));
      waits.push_back(is_busy);
      is_busy = true;
      pool.add(priority_of.back(), static_cast<std::uint32_t>(priority_of.size() - 1));
      if (!waits.back()) {
        ASSERT_EQ(pool.next_taken().value().operation, priority_of.size() - 1);
      }
    } else if (is_busy) {
      is_busy = pool.end_one();
      if (!is_busy) continue;
      const auto taken = pool.next_taken();
      ASSERT_TRUE(taken && waits[taken->operation]);
      waits[taken->operation] = false;
      for (std::size_t other = 0; other < waits.size(); ++other)
        ASSERT_TRUE(!waits[other] || priority_of[other] <= priority_of[taken->operation]);
    }
    while (pool.next_taken()) {
    }
  }
}

}  // namespace
}  // namespace steptime
