#include "sim/events/engine.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Time at_ps(std::int64_t ps) {
  return Time(Duration(ps));
}

/// An engine whose events write their name down.
struct Log {
  Engine engine;
  std::string names;

  EventId note(std::int64_t ps, Phase phase, char name) {
    return engine.at(at_ps(ps), phase, [this, name] { names += name; });
  }
};

// An action is copied as bytes: one that owns memory must not compile (the type of at() is the
// same for any callable, so the trait that it asserts stands here).
static_assert(!std::is_trivially_copyable_v<std::vector<int>>);

TEST(Engine, EventsRunInTheOrderOfTime) {
  Log log;
  log.note(30, Phase::kNormal, 'c');
  log.note(10, Phase::kNormal, 'a');
  log.note(20, Phase::kNormal, 'b');
  log.engine.run();
  EXPECT_EQ(log.names, "abc");
  EXPECT_EQ(log.engine.now(), at_ps(30));
  EXPECT_EQ(log.engine.executed(), 3U);
  EXPECT_EQ(log.engine.pending(), 0U);
}

TEST(Engine, AtOneInstantThePhaseDecides) {
  Log log;
  log.note(5, Phase::kObserve, 'e');
  log.note(5, Phase::kAgree, 'd');
  log.note(5, Phase::kSchedule, 'c');
  log.note(5, Phase::kNormal, 'b');
  log.note(5, Phase::kComplete, 'a');
  log.note(4, Phase::kObserve, '0');  // time comes first
  log.engine.run();
  EXPECT_EQ(log.names, "0abcde");
}

/// A lane whose items write their index down as a letter, and whose settling writes a dash.
class Notes final : public Lane {
 public:
  explicit Notes(Log& log) : Lane(log.engine), log_(log) {}
  void note(std::int64_t ps, char name, bool settles = false) {
    add(at_ps(ps), {static_cast<std::uint32_t>(name), settles ? 1U : 0U});
  }
  /// An item that stands for nothing when its time comes.
  void note_nothing(std::int64_t ps) { add(at_ps(ps), {0, 0}); }
  using Lane::settle_later;
  char settling_adds = 0;  ///< an item at the same instant, once

 private:
  bool ran(Item item) override {
    if (item.index == 0) return false;
    log_.names += static_cast<char>(item.index);
    if (item.tag == 1) settle_later();
    return true;
  }
  void settle() override {
    log_.names += '-';
    if (settling_adds != 0) add(now(), {static_cast<std::uint32_t>(settling_adds), 0});
    settling_adds = 0;
  }
  Log& log_;
};

TEST(Engine, AtOneInstantItemsComeFirstAndLanesSettleBeforeObservers) {
  Log log;
  Notes lane(log);
  log.note(5, Phase::kObserve, 'f');
  log.note(5, Phase::kSchedule, 'e');
  log.note(5, Phase::kNormal, 'd');
  log.note(5, Phase::kComplete, 'c');
  lane.note(5, 'a', true);
  lane.note(5, 'b');
  lane.note(6, 'g');
  log.note(4, Phase::kObserve, '0');  // time comes first
  log.engine.run();
  EXPECT_EQ(log.names, "0abcde-fg");
  EXPECT_EQ(log.engine.executed(), 8U);
  EXPECT_EQ(log.engine.now(), at_ps(6));
}

TEST(Engine, WhatSettlingAddsBelongsToTheInstant) {
  // Settling adds x, which comes before the observer; an observer that unsettles the lane makes it
  // settle again before time moves on.
  Log log;
  Notes lane(log);
  lane.settling_adds = 'x';
  lane.note(5, 'a', true);
  log.engine.at(at_ps(5), Phase::kObserve, [&log, &lane] {
    log.names += 'o';
    lane.settle_later();
  });
  log.note(6, Phase::kComplete, 'b');
  log.engine.run();
  EXPECT_EQ(log.names, "a-xo-b");
}

TEST(Engine, AnUnsettledLaneSettlesAtTheEnd) {
  Log log;
  Notes lane(log);
  lane.settle_later();
  EXPECT_FALSE(log.engine.step());
  EXPECT_EQ(log.names, "-");
  EXPECT_EQ(log.engine.executed(), 0U);
}

TEST(Engine, ItemsOfSeveralLanesRunInTheOrderOfInsertion) {
  Log log;
  Notes first(log);
  Notes second(log);
  first.note(5, 'a');
  second.note(5, 'b');
  first.note(5, 'c');
  log.engine.run();
  EXPECT_EQ(log.names, "abc");
}

TEST(Engine, HasSixteenLanes) {
  Log log;
  std::vector<std::unique_ptr<Notes>> lanes;
  for (int i = 0; i < 16; ++i)
    lanes.push_back(std::make_unique<Notes>(log));
  lanes.back()->note(1, 'a');
  EXPECT_THROW(Notes{log}, InternalError);  // the bound is tight
  log.engine.run();
  EXPECT_EQ(log.names, "a");
}

TEST(Engine, RunsAsManyEventsAndItemsAsItIsTold) {
  Log log;
  Notes lane(log);
  lane.note(1, 'a');
  lane.note_nothing(1);
  log.note(1, Phase::kNormal, 'b');
  lane.note(2, 'c');
  EXPECT_EQ(log.engine.run(2), 2U);
  EXPECT_EQ(log.names, "ab");
  EXPECT_EQ(log.engine.run(2), 1U);
  EXPECT_EQ(log.names, "abc");
}

TEST(Engine, AnItemThatStandsForNothingLeavesNoMarkButItsTime) {
  const auto fingerprint = [](bool nothing, char name) {
    Log log;
    Notes lane(log);
    lane.note(1, name);
    if (nothing) lane.note_nothing(1);
    log.engine.run();
    return log.engine.fingerprint();
  };
  EXPECT_EQ(fingerprint(true, 'a'), fingerprint(false, 'a'));
  EXPECT_NE(fingerprint(false, 'b'), fingerprint(false, 'a'));
}

TEST(Engine, AnItemInThePastIsABug) {
  Log log;
  Notes lane(log);
  lane.note(10, 'a');
  log.engine.run();
  EXPECT_THROW(lane.note(9, 'b'), InternalError);
  EXPECT_NO_THROW(lane.note(10, 'c'));  // the bound is tight
}

TEST(Engine, WithinAPhaseTheOrderOfInsertionDecides) {
  Log log;
  for (const char name : std::string("abcdefghijklmnop"))
    log.note(5, Phase::kNormal, name);
  log.engine.run();
  EXPECT_EQ(log.names, "abcdefghijklmnop");
}

TEST(Engine, AnEventMayAddEventsToItsOwnInstant) {
  // b runs at phase kSchedule and adds x to the phase kComplete, which is over: x comes next all
  // the same, before c, whose phase is kObserve.
  Log log;
  log.note(5, Phase::kComplete, 'a');
  log.engine.at(at_ps(5), Phase::kSchedule, [&log] {
    log.names += 'b';
    log.note(5, Phase::kComplete, 'x');
  });
  log.note(5, Phase::kObserve, 'c');
  log.engine.run();
  EXPECT_EQ(log.names, "abxc");
  EXPECT_EQ(log.engine.now(), at_ps(5));
}

TEST(Engine, AfterCountsFromNow) {
  Engine engine;
  Time seen{};
  struct Probe {
    Engine* engine;
    Time* seen;
  } probe{&engine, &seen};
  engine.at(at_ps(10), Phase::kNormal, [probe] {
    probe.engine->after(Duration(7), Phase::kNormal,
                        [probe] { *probe.seen = probe.engine->now(); });
  });
  engine.run();
  EXPECT_EQ(seen, at_ps(17));
}

TEST(Engine, ATimeBeyondTheRangeIsTheInputsFault) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Engine engine;
  engine.at(at_ps(2), Phase::kNormal, [e = &engine] {
    e->after(Duration(kMost - 2), Phase::kNormal, [] {});  // the bound is tight
    e->after(Duration(kMost - 1), Phase::kNormal, [] {});
  });
  EXPECT_EQ(message_of<RangeError>([&] { engine.run(); }),
            "the run leaves the range of simulated time (106 days)");
  EXPECT_EQ(engine.pending(), 1U);
}

TEST(Engine, ACauseThatEndsBeyondTheRangeIsTheInputsFault) {
  Causes causes;
  for (Causes* kept : {static_cast<Causes*>(nullptr), &causes}) {
    Engine engine(kept);
    const When late(at_ps(std::numeric_limits<std::int64_t>::max()));
    EXPECT_EQ(message_of<RangeError>([&] { engine.until(late, Duration(1), Reason{}); }),
              "the run leaves the range of simulated time (106 days)");
  }
}

TEST(Engine, SchedulingInThePastIsABug) {
  Log log;
  log.note(10, Phase::kNormal, 'a');
  log.engine.run();
  const std::string message = message_of<InternalError>([&] { log.note(9, Phase::kNormal, 'b'); });
  EXPECT_NE(message.find(": time >= now_ does not hold: an event is scheduled in the past"),
            std::string::npos)
      << message;
  EXPECT_NO_THROW(log.note(10, Phase::kNormal, 'c'));  // the bound is tight
  EXPECT_EQ(log.engine.pending(), 1U);
  log.engine.run();
  EXPECT_EQ(log.names, "ac");
}

TEST(Engine, ACancelledEventDoesNotRun) {
  Log log;
  log.note(1, Phase::kNormal, 'a');
  const EventId b = log.note(2, Phase::kNormal, 'b');
  log.note(3, Phase::kNormal, 'c');
  EXPECT_EQ(log.engine.pending(), 3U);
  EXPECT_TRUE(log.engine.cancel(b));
  EXPECT_EQ(log.engine.pending(), 2U);
  EXPECT_FALSE(log.engine.cancel(b));
  log.engine.run();
  EXPECT_EQ(log.names, "ac");
  EXPECT_EQ(log.engine.executed(), 2U);
}

TEST(Engine, AnEventThatRanCannotBeCancelled) {
  Log log;
  const EventId a = log.note(1, Phase::kNormal, 'a');
  log.engine.run();
  EXPECT_FALSE(log.engine.cancel(a));
}

TEST(Engine, AnEventCannotCancelItselfWhileItRuns) {
  struct State {
    Engine engine;
    EventId self;
    bool cancelled = true;
  } state;
  state.self = state.engine.at(at_ps(1), Phase::kNormal,
                               [&state] { state.cancelled = state.engine.cancel(state.self); });
  state.engine.run();
  EXPECT_FALSE(state.cancelled);
}

TEST(Engine, AnIdThatNeverWasNamesNothing) {
  Log log;
  EXPECT_FALSE(log.engine.cancel(EventId{}));
  EXPECT_FALSE(log.engine.cancel(EventId{.order = 7, .slot = 1000}));
  log.note(1, Phase::kComplete, 'a');
  EXPECT_FALSE(log.engine.cancel(EventId{})) << "a default id names the first event";
  log.engine.run();
  EXPECT_EQ(log.names, "a");
}

TEST(Engine, AReusedSlotDoesNotAnswerToItsOldName) {
  Log log;
  const EventId a = log.note(1, Phase::kNormal, 'a');
  EXPECT_TRUE(log.engine.cancel(a));
  const EventId b = log.note(1, Phase::kNormal, 'b');
  EXPECT_EQ(a.slot, b.slot);  // the free slot was taken again
  EXPECT_FALSE(log.engine.cancel(a));
  log.engine.run();
  EXPECT_EQ(log.names, "b");
  const EventId c = log.note(1, Phase::kNormal, 'c');
  EXPECT_EQ(c.slot, b.slot);
  EXPECT_FALSE(log.engine.cancel(b));
  EXPECT_TRUE(log.engine.cancel(c));
}

TEST(Engine, SlotsAreReusedSoThatMemoryGrowsWithPendingEventsOnly) {
  Engine engine;
  std::uint32_t most = 0;
  for (int i = 0; i < 1'000; ++i) {
    most = std::max(most, engine.at(at_ps(i), Phase::kNormal, [] {}).slot);
    most = std::max(most, engine.at(at_ps(i), Phase::kNormal, [] {}).slot);
    EXPECT_TRUE(engine.step());
    EXPECT_TRUE(engine.step());
  }
  EXPECT_EQ(most, 1U);
}

TEST(Engine, ActionsKeepTheirBytesWhileTheSlabGrows) {
  // The action adds so many events that the slab moves, and reads its captures afterwards.
  struct State {
    Engine engine;
    std::int64_t sum = 0;
  } state;
  const std::array<std::int64_t, 3> factors{3, 5, 7};
  state.engine.at(at_ps(1), Phase::kNormal, [&state, factors] {
    for (int i = 0; i < 10'000; ++i)
      state.engine.after(Duration(1), Phase::kNormal, [&state] { ++state.sum; });
    state.sum += factors[0] * factors[1] * factors[2];
  });
  state.engine.run();
  EXPECT_EQ(state.sum, 10'000 + 3 * 5 * 7);
}

TEST(Engine, StepOnAnEmptyListIsFalse) {
  Engine engine;
  EXPECT_FALSE(engine.step());
  const EventId only = engine.at(at_ps(1), Phase::kNormal, [] {});
  engine.cancel(only);
  EXPECT_FALSE(engine.step());
  EXPECT_EQ(engine.now(), at_ps(0));  // a cancelled event does not move time
  EXPECT_EQ(engine.executed(), 0U);
}

std::uint64_t fingerprint_of(const std::vector<std::pair<std::int64_t, Phase>>& events) {
  Engine engine;
  for (const auto& [ps, phase] : events)
    engine.at(at_ps(ps), phase, [] {});
  engine.run();
  return engine.fingerprint();
}

TEST(Engine, EqualTrajectoriesHaveEqualFingerprints) {
  const std::vector<std::pair<std::int64_t, Phase>> events{
      {1, Phase::kNormal}, {1, Phase::kComplete}, {9, Phase::kSchedule}};
  EXPECT_EQ(fingerprint_of(events), fingerprint_of(events));
  EXPECT_EQ(fingerprint_of({}), kFingerprintSeed);
}

TEST(Engine, TimePhaseAndNumberOfEventsChangeTheFingerprint) {
  const std::uint64_t base = fingerprint_of({{1, Phase::kNormal}, {2, Phase::kNormal}});
  EXPECT_NE(base, fingerprint_of({{1, Phase::kNormal}, {3, Phase::kNormal}}));
  EXPECT_NE(base, fingerprint_of({{1, Phase::kNormal}, {2, Phase::kObserve}}));
  EXPECT_NE(base, fingerprint_of({{1, Phase::kNormal}}));
  EXPECT_NE(base, fingerprint_of({{1, Phase::kNormal}, {2, Phase::kNormal}, {2, Phase::kNormal}}));
}

TEST(Engine, ACancelledEventLeavesNoMarkOnTheTrajectory) {
  Log with;
  with.note(1, Phase::kNormal, 'a');
  with.engine.cancel(with.note(2, Phase::kNormal, 'x'));
  with.engine.run();
  Log without;
  without.note(1, Phase::kNormal, 'a');
  without.engine.run();
  EXPECT_EQ(with.engine.fingerprint(), without.engine.fingerprint());
}

// Metamorphic: work that completes at one instant is independent, and decisions run a phase later,
// so the order in which the completions were inserted must not change what is decided.
TEST(Engine, PermutingIndependentInsertionsDoesNotChangeTheResult) {
  struct Model {
    Engine engine;
    std::int64_t units = 0;  // that are complete
    std::vector<std::int64_t> decisions;
  };
  const auto run = [](const std::vector<int>& order) {
    Model model;
    for (const int unit : order) {
      // Two groups: even units complete at 10 ps, odd ones at 20 ps. Unit u weighs 2^u.
      model.engine.at(at_ps(unit % 2 == 0 ? 10 : 20), Phase::kComplete, [&model, unit] {
        model.units += std::int64_t{1} << unit;
        model.engine.after(Duration{}, Phase::kSchedule,
                           [&model] { model.decisions.push_back(model.units); });
      });
    }
    model.engine.run();
    return model.decisions;
  };
  std::vector<int> order(6);
  std::iota(order.begin(), order.end(), 0);
  // At 10 ps: 2^0 + 2^2 + 2^4 = 21 for each of three decisions; at 20 ps all, 63.
  const std::vector<std::int64_t> expected{21, 21, 21, 63, 63, 63};
  do {
    ASSERT_EQ(run(order), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(EventsAhead, RunByTimeThenPhaseThenInsertion) {
  EventsAhead ahead;
  std::string order;
  const auto add = [&](std::int64_t ps, Phase phase, char name) {
    ahead.add({{Time(Duration(ps)), phase}, 0, Callback::of([&order, name] { order += name; })});
  };
  add(7, Phase::kNormal, 'd');
  add(3, Phase::kNormal, 'b');
  add(7, Phase::kComplete, 'c');
  add(7, Phase::kNormal, 'e');
  add(3, Phase::kComplete, 'a');
  EXPECT_FALSE(ahead.none_until(Time(Duration(3))));
  EXPECT_TRUE(ahead.none_until(Time(Duration(2))));
  while (!ahead.empty())
    ahead.take().run();
  EXPECT_EQ(order, "abcde");
  EXPECT_EQ(ahead.now(), Time(Duration(7)));
  EXPECT_THROW(add(6, Phase::kNormal, 'f'), InternalError);
  EXPECT_THROW(time_after(ahead.now(), Duration::max()), RangeError);
}

}  // namespace
}  // namespace steptime
