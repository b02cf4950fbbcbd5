#include "sim/servers/copy_threads.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(CopyThreads, AGpuCopiesSoManyAtOnceAndThenTheLowestRank) {
  CopyThreads threads(2, 2);
  EXPECT_TRUE(threads.take(0, 5, 1));
  EXPECT_TRUE(threads.take(0, 5, 2));
  EXPECT_FALSE(threads.take(0, 7, 3));
  EXPECT_FALSE(threads.take(0, -1, 4));
  EXPECT_FALSE(threads.take(0, 7, 5));
  EXPECT_TRUE(threads.take(1, 7, 6));  // another GPU
  EXPECT_EQ(threads.give_back(0), 4u);
  EXPECT_EQ(threads.give_back(0), 3u);  // came before 5
  EXPECT_EQ(threads.give_back(0), 5u);
  EXPECT_EQ(threads.give_back(0), std::nullopt);
  EXPECT_TRUE(threads.take(0, 0, 7));
}

TEST(CopyThreads, AHostHasNone) {
  CopyThreads threads(2, 1);
  EXPECT_FALSE(threads.has(2));
  for (std::uint32_t message = 0; message < 3; ++message)
    EXPECT_TRUE(threads.take(2, 0, message));
  EXPECT_EQ(threads.give_back(2), std::nullopt);
}

}  // namespace
}  // namespace steptime
