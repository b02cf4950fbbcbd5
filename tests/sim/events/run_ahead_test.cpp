// Does a domain that runs ahead still wait for what may come?
#include "sim/events/run_ahead.h"

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kSecond{1'000'000'000'000};
Time second(std::int64_t s) {
  return Time(s * kSecond);
}

/// Answers all of its two callers two seconds after the later one has called.
struct Meeting final : Callee {
  Engine& clock;
  std::vector<std::pair<Time, Callback>> calls;
  explicit Meeting(Engine& engine) : clock(engine) {}

  std::uint64_t call(Time at, Callback answer) {
    calls.emplace_back(at, answer);
    if (calls.size() == 2) {
      const Time both = std::max(calls[0].first, calls[1].first);
      clock.at(both + 2 * kSecond, Phase::kComplete, [this] {
        for (const auto& [unused, each] : std::exchange(calls, {}))
          each();
      });
    }
    return 7;
  }
  Time returns_not_before(std::uint64_t name) const override {
    EXPECT_EQ(name, 7U);
    Time latest = calls.size() == 2 ? Time{} : clock.now();
    for (const auto& [at, unused] : calls)
      latest = std::max(latest, at);
    return latest + 2 * kSecond;
  }
};

struct TwoDomains {
  Engine clock;
  Meeting meeting{clock};
  Domain first{clock, false};
  Domain second_one{clock, true};
  std::vector<std::int64_t> log;  ///< seconds of the second domain's events

  void note() { log.push_back(since_start(second_one.now()) / kSecond); }
  void note_at(std::int64_t s) {
    second_one.at(When(second(s)), Phase::kNormal, [this] { note(); });
  }
  void call_at(Domain& domain, std::int64_t s) {
    domain.at(When(second(s)), Phase::kNormal, [this, &domain] {
      const Callback returns{[](void* self, std::uint64_t logged) {
                               if (logged == 1) static_cast<TwoDomains*>(self)->note();
                             },
                             this, &domain == &second_one ? 1U : 0U};
      domain.call(meeting, returns,
                  [this](When when, Callback answer) { return meeting.call(when.time, answer); });
    });
  }
};

TEST(Domain, RunsAheadToTheEndWhenNothingCanCome) {
  TwoDomains d;
  d.note_at(1);
  d.note_at(9);
  d.second_one.start();
  EXPECT_EQ(d.log, (std::vector<std::int64_t>{1, 9}));
  EXPECT_EQ(d.clock.now(), Time{});
}

// The second domain calls at 1 s and has events at 2, 3, 6 and 20 s; the first one calls at 4 s.
// The call may return at 3 s and does at 6 s, before the other event of that instant.
TEST(Domain, WaitsFromTheEarliestReturnOn) {
  TwoDomains d;
  d.call_at(d.second_one, 1);
  for (const std::int64_t at : {2, 3, 6, 20})
    d.note_at(at);
  d.call_at(d.first, 4);
  d.second_one.start();
  EXPECT_EQ(d.log, (std::vector<std::int64_t>{2}));
  d.clock.run();
  EXPECT_EQ(d.log, (std::vector<std::int64_t>{2, 3, 6, 6, 20}));
}

// A call ahead of the shared clock counts from its own time: 5 s and 2 s, although the other one
// calls at 1 s.
TEST(Domain, ACallAheadIsMadeAtItsOwnTime) {
  TwoDomains d;
  d.call_at(d.first, 1);
  d.call_at(d.second_one, 5);
  d.second_one.start();
  EXPECT_EQ(d.clock.now(), Time{});
  d.clock.run();
  EXPECT_EQ(d.log, (std::vector<std::int64_t>{7}));
}

// Nothing is to happen before 5 s; after the call at 6 s its return may come from 8 s on.
TEST(Domain, LetsTimePassWhereNothingHappensInBetween) {
  TwoDomains d;
  d.note_at(5);
  d.second_one.at(When(second(1)), Phase::kNormal, [&d] {
    EXPECT_TRUE(d.second_one.pass(3 * kSecond));
    EXPECT_EQ(d.second_one.now(), second(4));
    EXPECT_FALSE(d.second_one.pass(kSecond));
    EXPECT_EQ(d.second_one.now(), second(4));
  });
  d.call_at(d.second_one, 6);
  d.second_one.at(When(second(7)), Phase::kNormal, [&d] {
    EXPECT_FALSE(d.second_one.pass(kSecond));
    EXPECT_TRUE(d.second_one.pass(kSecond / 2));
    d.note();
  });
  d.second_one.start();
  EXPECT_EQ(d.log, (std::vector<std::int64_t>{5, 7}));
  EXPECT_FALSE(d.first.pass(kSecond)) << "its time is that of all";
}

TEST(Domain, DecidesOnceAtTheEndOfAnInstant) {
  for (const bool runs_ahead : {false, true}) {
    Engine clock;
    Domain domain(clock, runs_ahead);
    std::vector<char> order;
    struct Decider {
      Domain& domain;
      std::vector<char>& order;
    } decider{domain, order};
    domain.set_decision({[](void* self, std::uint64_t) {
                           auto& [own, written] = *static_cast<Decider*>(self);
                           EXPECT_EQ(own.now(), second(1));
                           written.push_back('d');
                         },
                         &decider});
    for (const Phase phase : {Phase::kNormal, Phase::kComplete}) {
      domain.at(When(second(1)), phase, [&decider, phase] {
        decider.order.push_back(phase == Phase::kNormal ? 'n' : 'c');
        decider.domain.ask_for_decision();
      });
    }
    domain.at(When(second(2)), Phase::kNormal, [&order] { order.push_back('2'); });
    domain.start();
    clock.run();
    EXPECT_EQ(order, (std::vector<char>{'c', 'n', 'd', '2'})) << runs_ahead;
  }
}

TEST(Domain, DecidesBeforeTimePasses) {
  Engine clock;
  Domain domain(clock, true);
  domain.set_decision({[](void* self, std::uint64_t) {
                         auto& own = *static_cast<Domain*>(self);
                         EXPECT_EQ(own.now(), Time{});
                         own.at(When(own.now() + 2 * kSecond), Phase::kComplete, [] {});
                       },
                       &domain});
  domain.at({}, Phase::kNormal, [&domain] {
    domain.ask_for_decision();
    EXPECT_TRUE(domain.pass(kSecond));
    EXPECT_FALSE(domain.pass(kSecond)) << "what was decided ends then";
  });
  domain.start();
  EXPECT_EQ(domain.now(), second(2));
}

// Whether it runs ahead or not, copies take it to 3 s; then it decides, which others' work led to,
// and calls take 2 s more, for which the shared clock may wait in an event.
TEST(Domain, KeepsCauses) {
  for (const bool runs_ahead : {false, true}) {
    struct Program {
      Causes causes;
      Engine clock{&causes};
      Domain domain;
      Reason copies = clock.reason("copies", "link");
      Reason calls = clock.reason("calls", "host");
      std::vector<Cause> spent;

      explicit Program(bool ahead) : domain(clock, ahead) {
        domain.set_decision({[](void* self, std::uint64_t) {
                               auto& own = static_cast<Program*>(self)->domain;
                               own.because(own.until({}, own.now() - Time{}, Reason{}));
                             },
                             this});
      }
      void end() { spent = causes.attribution({domain.present()}, 1); }
      void call() {
        domain.ask_for_decision();
        const bool passed = domain.pass(2 * kSecond);
        const When end = domain.until(2 * kSecond, calls);
        if (!passed) return domain.at(end, Phase::kNormal, [this] { this->end(); });
        domain.because(end);
        this->end();
      }
    } program(runs_ahead);
    program.domain.at({}, Phase::kNormal, [&program] {
      program.domain.at(program.domain.until(3 * kSecond, program.copies), Phase::kComplete,
                        [&program] { program.call(); });
    });
    program.domain.start();
    program.clock.run();
    ASSERT_EQ(program.spent.size(), 2U) << runs_ahead;
    EXPECT_EQ(program.spent[0].cause, "copies");
    EXPECT_EQ(program.spent[0].seconds, 3);
    EXPECT_EQ(program.spent[1].seconds, 2);
  }
}

}  // namespace
}  // namespace steptime
