#include "sim/error.h"
#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(MultiRing, OnSharedPortsCostsWhatOneRingDoes) {
  // Two rings of 4000 B over 5 ranks' ports, at half the rate each: 8 (alpha + 2 * 800 beta).
  const Cluster cluster = star_cluster(5);
  const auto collective = collective_of(R"({"type": "multi-ring", "rings": 2})", cluster);
  EXPECT_EQ(collective->time({8000}).count(), 8 * message_ps(1600));
  EXPECT_EQ(MessageTimes(cluster, *collective).time({8000}).count(), 8 * message_ps(1600));
}

TEST(MultiRing, OnLinksOfTheirOwnRingsAddUp) {
  const auto collective =
      collective_of(R"({"type": "multi-ring", "rings": 2, "links": "own"})", star_cluster(5));
  EXPECT_EQ(collective->time({8000}).count(), 8 * message_ps(800));
}

TEST(MultiRing, LeavesTheSumOnEveryRank) {
  for (const Rank n : {3, 5, 8, 16, 33}) {
    const auto collective = collective_of(R"({"type": "multi-ring", "rings": 2})", star_cluster(n));
    EXPECT_TRUE(all_reduces(collective->programs({301}), n, 301, star_cluster(n)));
  }
}

TEST(MultiRing, RefusesMoreRingsThanThereAre) {
  try {
    collective_of(R"({"type": "multi-ring", "rings": 3})", star_cluster(6));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "x.json: /collective/rings: 6 ranks have 2 different rings at most, got 3");
  }
}

}  // namespace
}  // namespace steptime
