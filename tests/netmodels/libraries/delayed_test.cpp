#include "netmodels/libraries/delayed.h"

#include "sim/collective/message_time.h"
#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;

TEST(Delayed, MessagesWaitAsTheClosedFormSays) {
  // 8 ranks: 3 rounds, all of which add up; halving and doubling 6, of which 3; a ring 14, of
  // which 7. 6 ranks fold: a round before, which adds up, and one after 2 rounds.
  struct Case {
    const char* name;
    std::int64_t ranks, steps, sums;
  };
  for (const Case& c : {Case{"recursive-doubling", 8, 3, 3}, Case{"halving-doubling", 8, 6, 3},
                        Case{"ring", 8, 14, 7}, Case{"recursive-doubling", 6, 4, 3}}) {
    const Cluster cluster = star_cluster(c.ranks, {1e-9});
    const std::shared_ptr<const Collective> plain =
        collective_of(std::string(R"({"type": ")") + c.name + "\"}", cluster);
    const auto made = delayed(plain, {.per_step = microseconds(3), .per_sum = microseconds(50)});
    for (const std::int64_t m : {0, 3 << 20}) {
      EXPECT_EQ(made->time({m}),
                plain->time({m}) + c.steps * microseconds(3) + c.sums * microseconds(50))
          << c.name;
      EXPECT_EQ(MessageTimes(cluster, *made).time({m}), made->time({m})) << c.name;
    }
    EXPECT_EQ(made->linear()->time({12}), made->time({12}));
    EXPECT_EQ(made->stages({12}).front().startup, made->startup());
  }
}

TEST(Delayed, OneRankWaitsForNothing) {
  const Cluster one = star_cluster(1);
  EXPECT_EQ(delayed(collective_of(R"({"type": "ring"})", one), {.per_step = microseconds(3)})
                ->time({1 << 20}),
            Duration{});
}

}  // namespace
}  // namespace steptime
