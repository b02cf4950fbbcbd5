#include "sim/runtime/world.h"

#include "sim/core/error.h"
#include "sim/runtime/waits.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

Time at_ms(std::int64_t ms) {
  return Time(milliseconds(ms));
}

Task notes_after(World& world, Duration length, std::vector<std::string>& notes, std::string note) {
  co_await world.pause(length, {});
  notes.push_back(note + " " + std::to_string(since_start(world.now()) / milliseconds(1)));
}

TEST(World, TimePassesForEachProgramByItself) {
  World world;
  std::vector<std::string> notes;
  world.spawn({"a"}, notes_after(world, milliseconds(3), notes, "a"));
  world.spawn({"b"}, notes_after(world, milliseconds(2), notes, "b"), When(at_ms(1)));
  world.spawn({"c"}, notes_after(world, milliseconds(1), notes, "c"));
  world.run();
  // b begins at 1 and ends at 3 as a does, but was woken later.
  EXPECT_EQ(notes, (std::vector<std::string>{"c 1", "a 3", "b 3"}));
  EXPECT_TRUE(world.stuck().empty());
}

Task outer(World& world, std::vector<std::string>& notes) {
  co_await notes_after(world, milliseconds(1), notes, "inner");
  co_await notes_after(world, milliseconds(2), notes, "inner");
}

TEST(World, AProgramRunsAnotherToItsEnd) {
  World world;
  std::vector<std::string> notes;
  world.spawn({"outer"}, outer(world, notes));
  world.run();
  EXPECT_EQ(notes, (std::vector<std::string>{"inner 1", "inner 3"}));
}

TEST(World, DecisionsSeeTheWholeInstant) {
  World world;
  std::vector<std::string> notes;
  const auto decides = [](World& w, std::vector<std::string>& n) -> Task {
    co_await w.decide();
    n.push_back("decision");
  };
  const auto acts = [](World& w, std::vector<std::string>& n) -> Task {
    co_await w.at(w.present());
    n.push_back("act");
  };
  world.spawn({"decides"}, decides(world, notes));
  world.spawn({"acts"}, acts(world, notes));
  world.run();
  EXPECT_EQ(notes, (std::vector<std::string>{"act", "decision"}));
}

TEST(World, WhatAProgramThrowsEndsTheRun) {
  World world;
  const auto fails = [](World& w) -> Task {
    co_await w.pause(milliseconds(1), {});
    throw std::runtime_error("no");
  };
  world.spawn({"fails"}, fails(world));
  EXPECT_THROW(world.run(), std::runtime_error);
}

TEST(World, AnInnerProgramsErrorReachesWhoAwaitsIt) {
  World world;
  std::string caught;
  const auto fails = [](World& w) -> Task {
    co_await w.pause(milliseconds(1), {});
    throw std::runtime_error("no");
  };
  const auto catches = [](Task inner, std::string& text) -> Task {
    try {
      co_await inner;
    } catch (const std::runtime_error& e) {
      text = e.what();
    }
  };
  world.spawn({"catches"}, catches(fails(world), caught));
  world.run();
  EXPECT_EQ(caught, "no");
}

Task waits(Counter& counter, std::int64_t needs) {
  co_await counter.at_least(needs);
}

TEST(World, TellsWhoIsStuckAndWhy) {
  World world;
  Counter first(world, {"gradients", 0, "worker", 1});
  Counter second(world, {"requests"});
  first.add(2);
  world.spawn({"worker", 1}, waits(first, 4));
  world.spawn({"server", 0}, waits(second, 1), When{}, true);
  world.run();
  ASSERT_EQ(world.stuck().size(), 1u);  // a server waits for ever when nobody asks it
  try {
    world.expect_over();
    FAIL();
  } catch (const ModelFailure& e) {
    EXPECT_STREQ(e.what(),
                 "deadlock after 0 s: nothing happens any more, but\n"
                 "  worker 1 waits for gradients 0 of worker 1: has 2 of 4");
  }
}

/// What a run fails with.
std::string failure_of(World& world) {
  try {
    world.run();
    world.expect_over();
  } catch (const ModelFailure& e) {
    return e.what();
  }
  return "";
}

Task polls(World& world, Duration every, std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i)
    co_await world.pause(every, {});
}

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

TEST(World, ARunThatStaysAtOneInstantEnds) {
  // Two programs at 2 ms that wake each other, and one that goes on by itself, from 1 ms on to 2.
  World world;
  Counter pings(world, {"pings"});
  Counter pongs(world, {"pongs"});
  const auto plays = [](World& w, Counter& mine, Counter& other) -> Task {
    co_await w.pause(milliseconds(2), {});
    for (std::int64_t i = 1;; ++i) {
      mine.add();
      co_await other.at_least(i);
    }
  };
  const auto looks = [](World& w) -> Task {
    co_await w.pause(milliseconds(2), {});
    co_await polls(w, {}, kForEver);
  };
  world.spawn({"looks"}, looks(world));
  world.spawn({"ping"}, plays(world, pings, pongs));
  world.spawn({"pong"}, plays(world, pongs, pings));
  world.spawn({"sleeps"}, polls(world, milliseconds(9), 1));
  EXPECT_EQ(failure_of(world),
            "no time passes after 0.002 s: 10 million events at one instant, of\n"
            "  looks\n  ping\n  pong");
}

TEST(World, SoDoEventsThatStayThere) {
  World world;
  struct Again {
    World& world;
    void happen() {
      world.engine.after({}, Phase::kNormal, [this] { happen(); });
    }
  } again{world};
  again.happen();
  EXPECT_EQ(failure_of(world),
            "no time passes after 0 s: 10 million events at one instant, of\n  no program");
}

TEST(World, ARunInWhichOnlyServiceGoesOnEnds) {
  World world;
  Counter answers(world, {"answers"});
  world.spawn({"worker", 1}, waits(answers, 1));
  world.spawn({"server", 0}, polls(world, milliseconds(1), kForEver), When{}, true);
  const std::string text = failure_of(world);
  EXPECT_EQ(text.substr(text.find(" s: ")),
            " s: only threads that serve go on, but\n  worker 1 waits for answers: has 0 of 1");
}

TEST(World, ServiceMayTakeLong) {
  // More than a batch of events goes by before the server answers, at 30 s; the run ends then.
  World world;
  Counter answers(world, {"answers"});
  const auto serves = [](World& w, Counter& counter) -> Task {
    co_await polls(w, milliseconds(1), 30'000);
    counter.add();
    co_await polls(w, milliseconds(1), kForEver);
  };
  world.spawn({"worker", 1}, waits(answers, 1));
  world.spawn({"server", 0}, serves(world, answers), When{}, true);
  EXPECT_EQ(failure_of(world), "");
  EXPECT_EQ(world.now(), at_ms(30'000));
}

TEST(World, CausesAreCarriedByWhatWakesAProgram) {
  Causes causes;
  World world(&causes);
  const Reason slow = world.engine.reason("slow", "x");
  const Reason fast = world.engine.reason("fast", "x");
  Counter both(world, {"both"});
  const auto raises = [](World& w, Counter& counter, Duration length, Reason reason) -> Task {
    co_await w.pause(length, reason);
    counter.add();
  };
  When end{};
  const auto ends = [](World& w, Counter& counter, When& when) -> Task {
    co_await counter.at_least(2);
    when = w.engine.hold(w.present()).when;
  };
  world.spawn({"slow"}, raises(world, both, milliseconds(5), slow));
  world.spawn({"fast"}, raises(world, both, milliseconds(1), fast));
  world.spawn({"ends"}, ends(world, both, end));
  world.run();
  // What came last led to the end: 5 ms, all of them slow.
  const auto list = causes.attribution({end}, 1);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list.front().cause, "slow");
  EXPECT_DOUBLE_EQ(list.front().seconds, 5e-3);
}

TEST(Gather, GoesOnWhenTheLastComesThoughItWasToldFirst) {
  World world;
  Gather parts(world, {"parts"});
  Time end{};
  const auto waits_for_all = [](World& w, Gather& gather, Time& time) -> Task {
    co_await gather.all();
    time = w.now();
  };
  parts.expect(2);
  world.spawn({"waits"}, waits_for_all(world, parts, end));
  world.engine.at(at_ms(1), Phase::kNormal, [&] { parts.came(When(at_ms(7))); });  // lies ahead
  world.engine.at(at_ms(3), Phase::kNormal, [&] { parts.came(When(at_ms(3))); });
  world.run();
  EXPECT_EQ(end, at_ms(7));
}

TEST(Pool, GivesPlacesInTheOrderOfArrival) {
  World world;
  Pool pool(world, {"streams"}, 1);
  std::vector<std::string> notes;
  const auto uses = [](World& w, Pool& p, std::vector<std::string>& n, std::string name) -> Task {
    co_await p.acquire();
    co_await w.pause(milliseconds(2), {});
    n.push_back(name + " " + std::to_string(since_start(w.now()) / milliseconds(1)));
    p.release();
  };
  world.spawn({"a"}, uses(world, pool, notes, "a"));
  world.spawn({"b"}, uses(world, pool, notes, "b"));
  world.run();
  EXPECT_EQ(notes, (std::vector<std::string>{"a 2", "b 4"}));
}

TEST(Fifo, ServesOneThingAfterAnother) {
  World world;
  Fifo thread;
  EXPECT_EQ(thread.reserve(world.engine, When(at_ms(1)), milliseconds(4), {}).end.time, at_ms(5));
  // It comes at 2 and waits until 5; the next one comes when the thread is free again.
  EXPECT_EQ(thread.reserve(world.engine, When(at_ms(2)), milliseconds(1), {}).start.time, at_ms(5));
  EXPECT_EQ(thread.reserve(world.engine, When(at_ms(9)), milliseconds(1), {}).end.time, at_ms(10));
  EXPECT_EQ(thread.busy(), milliseconds(6));
}

TEST(Memory, KnowsItsPeak) {
  Memory memory;
  memory.acquire(5);
  memory.acquire(3);
  memory.release(5);
  memory.acquire(4);
  EXPECT_EQ(memory.held(), 7);
  EXPECT_EQ(memory.peak(), 8);
}

}  // namespace
}  // namespace steptime
