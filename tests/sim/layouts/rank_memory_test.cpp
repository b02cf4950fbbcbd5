#include "sim/layouts/rank_memory.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

Time at(std::int64_t ps) {
  return Time(Duration(ps));
}

TEST(RankMemory, PeakIsTheMostThatIsHeldAtOnceWithItsParts) {
  RankMemory memory;
  memory.acquire(HeldFor::kWeights, {10}, at(0));
  memory.acquire(HeldFor::kActivations, {5}, at(3));
  memory.acquire(HeldFor::kActivations, {2}, at(4));  // 17 from here on
  memory.release(HeldFor::kActivations, {7}, at(9));
  memory.acquire(HeldFor::kLogits, {6}, at(9));  // 16
  EXPECT_EQ(memory.peak().bytes, 17);
  EXPECT_EQ(memory.peak().since, at(4));
  EXPECT_EQ(memory.peak().parts[static_cast<std::size_t>(HeldFor::kActivations)], 7);
  EXPECT_EQ(memory.total(), 16);
}

TEST(RankMemory, WhatIsHeldLastCountsThoughNothingFollows) {
  RankMemory memory;
  memory.acquire(HeldFor::kWeights, {10}, at(2));
  EXPECT_EQ(memory.peak().bytes, 10);
  EXPECT_EQ(memory.peak().since, at(2));
}

TEST(RankMemory, OrderWithinAnInstantIsNoMatter) {
  RankMemory first;
  RankMemory second;
  for (RankMemory* memory : {&first, &second})
    memory->acquire(HeldFor::kBuffers, {3}, at(1));
  first.acquire(HeldFor::kBuffers, {3}, at(5));
  first.release(HeldFor::kBuffers, {3}, at(5));
  second.release(HeldFor::kBuffers, {3}, at(5));
  second.acquire(HeldFor::kBuffers, {3}, at(5));
  EXPECT_EQ(first.peak().bytes, 3);
  EXPECT_EQ(second.peak().bytes, 3);
  EXPECT_EQ(first.peak().since, second.peak().since);
}

TEST(RankMemory, WhatWasNotHeldCannotBeReleased) {
  RankMemory memory;
  EXPECT_THROW(memory.release(HeldFor::kLogits, {1}, at(0)), InternalError);
}

}  // namespace
}  // namespace steptime
