#include "sim/events/causes.h"

#include "sim/core/error.h"
#include "sim/events/engine.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::seconds;
using Times = std::vector<std::pair<std::string, double>>;

Times paths(const Causes& causes, const std::vector<When>& ends) {
  Times list;
  for (const Cause& cause : causes.attribution(ends, 1))
    list.emplace_back(cause.cause, cause.seconds);
  return list;
}

Times path(const Causes& causes, When end) {
  return paths(causes, {end});
}

TEST(Causes, TheWayBackAddsUpToTheWhole) {
  Causes causes;
  const Reason compute = causes.reason("compute", "GPU");
  const Reason send = causes.reason("send", "link");
  EXPECT_EQ(causes.reason("compute", "GPU"), compute);
  const When computed = causes.until(When{}, Time(seconds(3)), compute);
  const When sent = causes.until(computed, Time(seconds(8)), send);
  const When again = causes.until(sent, Time(seconds(9)), compute);
  // 3 + 1 s of compute and 5 s of sending are the 9 s.
  EXPECT_EQ(path(causes, again), (Times{{"send", 5}, {"compute", 4}}));
}

TEST(Causes, WhatQueuesFollowsFromWhatCameLater) {
  Causes causes;
  const When there = causes.until(When{}, Time(seconds(2)), causes.reason("compute", "GPU"));
  const When free = causes.until(When{}, Time(seconds(5)), causes.reason("other", "link"));
  EXPECT_EQ(later(there, free).cause, free.cause);
  EXPECT_EQ(later(there, When(Time(seconds(2)))).cause, there.cause);
  const When end = causes.until(later(there, free), Time(seconds(6)), causes.reason("own", "link"));
  EXPECT_EQ(path(causes, end), (Times{{"other", 5}, {"own", 1}}));
}

TEST(Causes, NothingPassesInNoTime) {
  Causes causes;
  const When when = causes.until(When{}, Time(seconds(1)), causes.reason("a", ""));
  EXPECT_EQ(causes.until(when, Time(seconds(1)), causes.reason("b", "")).cause, when.cause);
}

TEST(Causes, AGapBetweenCauseAndEffectIsAnError) {
  Causes causes;
  const Reason reason = causes.reason("a", "");
  const When one = causes.until(When{}, Time(seconds(1)), reason);
  EXPECT_THROW(causes.until(When(Time(seconds(2)), one.cause), Time(seconds(3)), reason),
               InternalError);
  EXPECT_THROW(causes.until(one, Time{}, reason), InternalError);
}

TEST(Causes, WhatNothingCanLeadBackToIsFreed) {
  // A chain of a million seconds, each with a dead end beside it: the chain stays, and so does what
  // has begun in second 1 and ends last.
  Causes causes;
  const Reason chain = causes.reason("chain", "");
  const Reason beside = causes.reason("beside", "");
  When end{};
  When held{};
  constexpr int kSeconds = 1'000'000;
  for (int s = 1; s <= kSeconds; ++s) {
    causes.tidy(end.time);
    causes.until(end, Time(seconds(s)), beside);
    end = causes.until(end, Time(seconds(s)), chain);
    if (s == 1) causes.hold(held = end);
  }
  EXPECT_LT(causes.size(), static_cast<std::size_t>(kSeconds) / 10);
  EXPECT_EQ(path(causes, end), (Times{{"chain", kSeconds}}));
  causes.let_go(held);
  const When last = causes.until(held, Time(seconds(kSeconds + 1)), beside);
  EXPECT_EQ(path(causes, last), (Times{{"beside", kSeconds}, {"chain", 1}}));
}

TEST(Causes, WhatLiesBehindTheEndDoesNotCount) {
  Causes causes;
  const When one = causes.until(When{}, Time(seconds(3)), causes.reason("a", ""));
  const When two = causes.until(one, Time(seconds(5)), causes.reason("b", ""));
  EXPECT_EQ(path(causes, When(Time(seconds(2)), two.cause)), (Times{{"a", 2}}));
}

TEST(Causes, WaysThatMeetCountForEach) {
  //  0 --a 1 s-- one --b 1 s-- two --c 1 s-- three
  //                \--c 4 s-- four                 three, two, four and one: 4 a, 2 b, 1 + 4 c
  Causes causes;
  const When one = causes.until(When{}, Time(seconds(1)), causes.reason("a", ""));
  const When two = causes.until(one, Time(seconds(2)), causes.reason("b", ""));
  const When three = causes.until(two, Time(seconds(3)), causes.reason("c", ""));
  const When four = causes.until(one, Time(seconds(5)), causes.reason("c", ""));
  EXPECT_EQ(paths(causes, {three, two, four, one}), (Times{{"c", 5}, {"a", 4}, {"b", 2}}));
  EXPECT_EQ(paths(causes, {one, four, two, three}), (Times{{"c", 5}, {"a", 4}, {"b", 2}}));
}

TEST(Causes, ALongerTimeForOneReasonIsNoFurtherPoint) {
  //  0 --a 1 s-- one --b 1 s-- two --b 1 s-- three
  //                              \--b 4 s-- four --a 1 s-- five
  Causes causes;
  const Reason a = causes.reason("a", "");
  const Reason b = causes.reason("b", "");
  const When one = causes.until(When{}, Time(seconds(1)), a);
  const When two = causes.until(one, Time(seconds(2)), b);
  EXPECT_EQ(causes.until(one, Time(seconds(2)), b).cause, two.cause);  // the same since one
  const When three = causes.until(two, Time(seconds(3)), b);
  const When four = causes.until(two, Time(seconds(6)), b);
  const When five = causes.until(four, Time(seconds(7)), a);
  EXPECT_EQ(three.cause, two.cause);
  EXPECT_EQ(four.cause, two.cause);
  EXPECT_EQ(path(causes, two), (Times{{"a", 1}, {"b", 1}}));
  EXPECT_EQ(path(causes, three), (Times{{"b", 2}, {"a", 1}}));
  EXPECT_EQ(paths(causes, {five, three, two}), (Times{{"b", 5 + 2 + 1}, {"a", 2 + 1 + 1}}));
  EXPECT_EQ(causes.size(), 3u);  // the start of the run, one and four
}

TEST(Causes, WhatIsHeldOutlivesItsTime) {
  Causes causes;
  const When one = causes.until(When{}, Time(seconds(1)), causes.reason("a", ""));
  causes.hold(one);
  // Meanwhile a chain of 100,000 s, which stays.
  const Reason even = causes.reason("even", "");
  const Reason odd = causes.reason("odd", "");
  When end{};
  for (int s = 1; s <= 100'000; ++s) {
    causes.tidy(end.time);
    end = causes.until(end, Time(seconds(s)), s % 2 == 0 ? even : odd);
  }
  causes.let_go(one);
  EXPECT_EQ(path(causes, one), (Times{{"a", 1}}));
  EXPECT_EQ(path(causes, end), (Times{{"even", 50'000}, {"odd", 50'000}}));
}

TEST(Causes, WhatIsHeldTwiceIsLetGoTwice) {
  Causes causes;
  const When one = causes.until(When{}, Time(seconds(1)), causes.reason("a", ""));
  causes.hold(one);
  causes.hold(one);
  causes.let_go(one);
  causes.let_go(one);
  EXPECT_THROW(causes.let_go(one), InternalError);
}

TEST(Causes, StretchesFollowOneAnother) {
  //  0 --a 1 s-- one: 2 s of b, 3 s of c, and then a; as far as the end, 8 s, 4 s or 2 s behind it
  Causes causes;
  const Reason a = causes.reason("a", "");
  const Reason b = causes.reason("b", "");
  const Reason c = causes.reason("c", "");
  const Stretches stretches{{b, seconds(2)}, {c, seconds(3)}, a};
  const When one = causes.until(When{}, Time(seconds(1)), a);
  const When all = causes.until(one, Time(seconds(9)), stretches);
  const When part = causes.until(one, Time(seconds(5)), stretches);
  const When first = causes.until(one, Time(seconds(3)), stretches);
  EXPECT_EQ(path(causes, all), (Times{{"a", 1 + 3}, {"c", 3}, {"b", 2}}));
  EXPECT_EQ(path(causes, part), (Times{{"b", 2}, {"c", 2}, {"a", 1}}));
  EXPECT_EQ(path(causes, first), (Times{{"b", 2}, {"a", 1}}));
  EXPECT_EQ(causes.until(one, one.time, stretches), one);
  // What follows begins with the first again; for the last reason it goes on.
  const When again = causes.until(all, Time(seconds(10)), stretches);
  EXPECT_EQ(path(causes, again), (Times{{"a", 1 + 3}, {"b", 2 + 1}, {"c", 3}}));
  EXPECT_EQ(path(causes, causes.until(part, Time(seconds(6)), a)),
            (Times{{"a", 1 + 1}, {"b", 2}, {"c", 2}}));
}

TEST(Causes, TheLastOfStretchesGoesOn) {
  //  0 --a 1 s-- one --b 2 s, then c-- two at 5 s, made longer to 7 s
  Causes causes;
  const Reason a = causes.reason("a", "");
  const Reason b = causes.reason("b", "");
  const Reason c = causes.reason("c", "");
  const Reason both = causes.reason({{b, seconds(2)}, {}, c});
  EXPECT_EQ(causes.reason({{b, seconds(2)}, {}, c}), both);
  const When one = causes.until(When{}, Time(seconds(1)), a);
  const When two = causes.until(one, Time(seconds(5)), both);
  ASSERT_TRUE(Causes::lasts(two, both));
  const When longer = causes.lengthen(two, Time(seconds(7)));
  EXPECT_EQ(path(causes, longer), (Times{{"c", 4}, {"b", 2}, {"a", 1}}));
  EXPECT_EQ(path(causes, two), (Times{{"b", 2}, {"c", 2}, {"a", 1}}));
  // Another until() begins with the first one.
  EXPECT_EQ(path(causes, causes.until(two, Time(seconds(6)), both)),
            (Times{{"b", 2 + 1}, {"c", 2}, {"a", 1}}));
  EXPECT_EQ(causes.until(two, two.time, both), two);
}

TEST(Causes, PeriodsOfStretchesTakeOnePoint) {
  //  0 --a 1 s-- one --(b 2 s, c 3 s, a 1 s) a thousand times-- end; a way leaves after the first
  Causes causes;
  const Reason a = causes.reason("a", "");
  const Reason b = causes.reason("b", "");
  const Reason c = causes.reason("c", "");
  const Reason calls = causes.reason({{b, seconds(2)}, {c, seconds(3)}, a, seconds(6)});
  const When one = causes.until(When{}, Time(seconds(1)), a);
  const When first = causes.until(one, Time(seconds(7)), calls);
  const std::size_t points = causes.size();
  When end = first;
  for (int i = 1; i < 1000; ++i)
    end = causes.lengthen(end, end.time + seconds(6));
  EXPECT_EQ(causes.size(), points);
  EXPECT_EQ(path(causes, end), (Times{{"c", 3000}, {"b", 2000}, {"a", 1001}}));
  EXPECT_EQ(path(causes, causes.until(first, Time(seconds(8)), b)),
            (Times{{"b", 2 + 1}, {"c", 3}, {"a", 1 + 1}}));
  // What ends within a period has passed a part of it: 12 s of two, 2 s of b and 1 s of c.
  EXPECT_EQ(path(causes, When(Time(seconds(1 + 12 + 3)), end.cause)),
            (Times{{"c", 7}, {"b", 6}, {"a", 3}}));
}

TEST(Causes, MoreStretchesThanHaveANumberTakePointsInstead) {
  // 10,000 different ones, one after another: 10 ms + i us of b, 1 s of c and the rest, of 2 s, a.
  Causes causes;
  const Reason a = causes.reason("a", "");
  const Reason b = causes.reason("b", "");
  const Reason c = causes.reason("c", "");
  When end{};
  Duration sum{};
  constexpr int kDifferent = 10'000;
  for (int i = 0; i < kDifferent; ++i) {
    const Duration length = std::chrono::milliseconds(10) + std::chrono::microseconds(i);
    sum += length;
    causes.tidy(end.time);
    end = causes.until(end, end.time + seconds(2), Stretches{{b, length}, {c, seconds(1)}, a});
  }
  const double of_b = to_seconds(sum);
  const Times list = path(causes, end);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0], (std::pair<std::string, double>("c", kDifferent)));
  EXPECT_EQ(list[1].first, "a");
  EXPECT_DOUBLE_EQ(list[1].second, kDifferent - of_b);
  EXPECT_EQ(list[2].first, "b");
  EXPECT_DOUBLE_EQ(list[2].second, of_b);
}

TEST(Causes, AnEventFollowsFromWhatItsTimeFollowedFrom) {
  Causes causes;
  Engine engine(&causes);
  const Reason work = engine.reason("work", "");
  When end{};
  engine.at(engine.until(engine.present(), seconds(2), work), Phase::kNormal, [&] {
    engine.at(engine.now(), Phase::kSchedule, [&] {
      engine.at(engine.until(engine.present(), seconds(3), work), Phase::kNormal,
                [&] { end = engine.present(); });
    });
  });
  engine.run();
  EXPECT_EQ(path(causes, end), (Times{{"work", 5}}));
}

TEST(Causes, ATimeThatNobodyExplainsIsSeen) {
  Causes causes;
  Engine engine(&causes);
  When end{};
  engine.after(seconds(2), Phase::kNormal, [&] { end = engine.present(); });
  engine.run();
  EXPECT_EQ(path(causes, end), (Times{{"not explained", 2}}));
}

}  // namespace
}  // namespace steptime
