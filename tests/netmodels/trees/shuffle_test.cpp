#include "netmodels/trees/shuffle.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Shuffle, DrawsTheUpperHalfOfAProduct) {
  // The first numbers of mt19937 with seed 1: 1791095845, 4282876139, 3093770124; times 10 over
  // 2^32: 4.17, 9.97, 7.2.
  std::mt19937 random(1);
  EXPECT_EQ(bounded_draw(random, 10), 4U);
  EXPECT_EQ(bounded_draw(random, 10), 9U);
  EXPECT_EQ(bounded_draw(random, 10), 7U);
}

TEST(Shuffle, DrawsAgainWhatWouldFavourAValue) {
  // A range of 3 * 2^30 leaves 2^30 of 2^32 numbers over: those with a lower half of the product
  // below 2^30. That is 3 x 2^30 mod 2^32, 0 where x is a multiple of 4, as the third and the
  // fourth number are: 3093770124 and 4005303368.
  std::mt19937 random(1);
  constexpr std::uint32_t kRange = 3U << 30;
  EXPECT_EQ(bounded_draw(random, kRange), 1343321883U);  // 1791095845 * 3 / 4
  EXPECT_EQ(bounded_draw(random, kRange), 3212157104U);  // 4282876139 * 3 / 4
  EXPECT_EQ(bounded_draw(random, kRange), 368447U);      // the fifth: 491263 * 3 / 4
}

TEST(Shuffle, OneDrawServesTwoPositions) {
  // Three: one draw of 2 * 3: 1791095845 * 6 / 2^32 = 2.5, that is 2 / 3 = 0 for position 1 and
  // 2 mod 3 = 2 for position 2: 0 1 2 becomes 1 0 2. Four begin with a draw of 2 for position 1,
  // 0.8: 1 0 2 3; then 4282876139 * 12 / 2^32 = 11.97: positions 2 and 3 stay.
  std::vector<std::int32_t> three{0, 1, 2};
  std::mt19937 random(1);
  shuffle(three, random);
  EXPECT_EQ(three, (std::vector<std::int32_t>{1, 0, 2}));
  std::vector<std::int32_t> four{0, 1, 2, 3};
  random.seed(1);
  shuffle(four, random);
  EXPECT_EQ(four, (std::vector<std::int32_t>{1, 0, 2, 3}));
}

TEST(Shuffle, LeavesShortListsAlone) {
  std::mt19937 random(1);
  std::vector<std::int32_t> none;
  shuffle(none, random);
  std::vector<std::int32_t> one{7};
  shuffle(one, random);
  EXPECT_EQ(one, std::vector<std::int32_t>{7});
  EXPECT_EQ(random(), 1791095845U);  // nothing was drawn
}

#ifdef __GLIBCXX__
TEST(Shuffle, IsThatOfLibstdcxx) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    for (int size = 0; size <= 40; ++size) {
      std::vector<std::int32_t> ours(static_cast<std::size_t>(size));
      std::iota(ours.begin(), ours.end(), 0);
      std::vector<std::int32_t> theirs = ours;
      std::mt19937 random(seed);
      std::mt19937 same(seed);
      shuffle(ours, random);
      std::shuffle(theirs.begin(), theirs.end(), same);
      EXPECT_EQ(ours, theirs);
      EXPECT_EQ(random, same);
    }
  }
}
#endif

}  // namespace
}  // namespace steptime
