// Does the engine grant, queue and start as MXNet's does? Known answers: engine_cases.json, which
// names its source. The oracle: DependencyEngine, which knows nothing of steps.
#include "sim/mxnet/op_engine.h"

#include "sim/config/json.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/support/dependency_engine.h"
#include "tests/support/messages.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kSecond{1'000'000'000'000};

using Variable = Ops::Variable;
using Variables = std::vector<Variable>;
using State = OpEngine::State;
using Times = std::pair<double, double>;
using Order = std::vector<std::uint32_t>;

/// An engine whose operations are named by their number in the step, with times in s.
struct Bench final : OpEngine::Listener {
  Ops ops;
  Engine clock;
  Domain domain{clock, false};
  OpEngine engine{domain, *this, ops, true};
  std::vector<std::optional<Duration>> lengths;
  Order order;
  std::map<std::uint32_t, Times> times;
  std::map<std::uint32_t, Variable> got_last;

  std::optional<When> started(OpEngine::OperationId id) override {
    const std::uint32_t number = engine.label(id);
    order.push_back(number);
    times[number].first = to_seconds(since_start(clock.now()));
    got_last[number] = engine.last_granted(id);
    if (!lengths[number]) return std::nullopt;
    return domain.until(*lengths[number], Reason{});
  }
  void ended(OpEngine::OperationId id) override {
    times[engine.label(id)].second = to_seconds(since_start(clock.now()));
  }
  void add(Ops::PoolId pool, std::int64_t seconds, const Variables& reads, const Variables& writes,
           std::int32_t priority = 0) {
    ops.add(static_cast<std::uint32_t>(lengths.size()), pool, priority, reads, writes);
    lengths.emplace_back(seconds * kSecond);
  }
  /// One that runs until it is finished.
  void add_endless(Ops::PoolId pool, const Variables& reads, const Variables& writes) {
    add(pool, 0, reads, writes);
    lengths.back().reset();
  }
  /// Pushes a step at once.
  std::vector<OpEngine::OperationId> push() {
    engine.begin_step();
    std::vector<OpEngine::OperationId> all;
    for (std::uint32_t number = 0; number < lengths.size(); ++number)
      all.push_back(engine.push(number));
    clock.run();
    return all;
  }
};

TEST(OpEngine, KnownAnswers) {
  const std::string file = STEPTIME_TESTS_DIR "/sim/mxnet/engine_cases.json";
  const Json cases = parse_json(read_file(file), file).at("cases");
  ASSERT_EQ(cases.size(), 7u);
  for (const Json& each : cases) {
    SCOPED_TRACE(each.at("name").get<std::string>());
    Bench bench;
    std::map<std::string, Ops::PoolId> pools;
    for (const auto& [name, pool] : each.at("pools").items()) {
      pools[name] =
          bench.ops.add_pool(pool.at("threads").get<int>(),
                             pool.at("queue") == "prio" ? PoolOrder::kPriority : PoolOrder::kFifo);
    }
    std::map<std::string, Variable> variables;
    const auto named = [&](const Json& names) {
      Variables all;
      for (const Json& name : names) {
        const auto text = name.get<std::string>();
        if (!variables.contains(text)) variables[text] = bench.ops.add_variable();
        all.push_back(variables[text]);
      }
      return all;
    };
    std::vector<std::string> names;
    for (const Json& op : each.at("ops")) {
      bench.add(pools.at(op.at("pool")), op.at("d").get<int>(), named(op.at("r")),
                named(op.at("w")), op.at("prio").get<std::int32_t>());
      names.push_back(op.at("name"));
    }
    bench.push();
    std::vector<std::string> order;
    for (const std::uint32_t number : bench.order)
      order.push_back(names[number]);
    EXPECT_EQ(order, each.at("start_order").get<std::vector<std::string>>());
    for (std::uint32_t i = 0; i < names.size(); ++i)
      EXPECT_EQ(bench.times[i], each.at("start_end").at(names[i]).get<Times>()) << names[i];
    EXPECT_EQ(bench.engine.pending(), 0u);
  }
}

// r1 ----+                  The waiting write holds back the later read, although r1 runs and a
//        v                  read could share with it: MXNet's queue is first in, first out.
// X:  r1 | w | r2
TEST(OpEngine, AWaitingWriteHoldsBackLaterReads) {
  Bench bench;
  const auto pool = bench.ops.add_pool(9, PoolOrder::kFifo);
  const auto x = bench.ops.add_variable();
  bench.add(pool, 2, {x}, {});
  bench.add(pool, 1, {}, {x});
  bench.add(pool, 1, {x}, {});
  bench.push();
  EXPECT_EQ(bench.times[0], Times(0, 2));
  EXPECT_EQ(bench.times[1], Times(2, 3));
  EXPECT_EQ(bench.times[2], Times(3, 4));
}

// a --writes X--> c      c waits for both, and says which of them came last.
// b --writes Y----^
TEST(OpEngine, KnowsWhatMadeAnOperationReady) {
  Bench bench;
  const auto pool = bench.ops.add_pool(9, PoolOrder::kFifo);
  const auto x = bench.ops.add_variable();
  const auto y = bench.ops.add_variable();
  bench.add(pool, 3, {}, {x});
  bench.add(pool, 1, {}, {y});
  bench.add(pool, 1, {x, y}, {});
  bench.push();
  EXPECT_EQ(bench.got_last[0], Ops::kPushed);
  EXPECT_EQ(bench.got_last[2], x);
}

TEST(OpEngine, APoolRunsAsManyAsItHasThreads) {
  for (const int threads : {1, 2, 3}) {
    Bench bench;
    const auto pool = bench.ops.add_pool(threads, PoolOrder::kFifo);
    for (int i = 0; i < 6; ++i)
      bench.add(pool, 1, {}, {});
    bench.push();
    EXPECT_EQ(bench.times[5].second, 6.0 / threads) << threads;
  }
}

TEST(OpEngine, AnyNumberOfPoolsStartsInTheirOrder) {
  Bench bench;
  for (std::uint32_t i = 0; i < 200; ++i)
    bench.ops.add_pool(1, PoolOrder::kFifo);
  Order pools;
  for (std::uint32_t i = 0; i < 200; ++i) {
    bench.add(199 - i, 1, {}, {});
    pools.push_back(199 - i);
  }
  bench.push();
  EXPECT_EQ(bench.order, pools);
}

// The idle thread takes what is pushed first; what waits goes by priority, and the two of priority
// 7 in the order of a heap (thread_pool_test.cpp), here that of the pushes.
TEST(OpEngine, AnIdleThreadTakesAtOnceThenPriorityDecides) {
  Bench bench;
  const auto pool = bench.ops.add_pool(1, PoolOrder::kPriority);
  for (const std::int32_t priority : {-3, 7, -3, 0, 7})
    bench.add(pool, 1, {}, {}, priority);
  bench.push();
  EXPECT_EQ(bench.order, (Order{0, 1, 4, 3, 2}));
}

// Two idle threads and eight equal copies.
TEST(OpEngine, EqualCopiesThatWaitAreAHeap) {
  Bench bench;
  const auto pool = bench.ops.add_pool(2, PoolOrder::kPriority);
  for (int i = 0; i < 8; ++i)
    bench.add(pool, 1, {}, {}, -5);
  bench.push();
  EXPECT_EQ(bench.order, (Order{0, 1, 2, 4, 7, 6, 3, 5}));
}

TEST(OpEngine, AnOperationWithoutADurationRunsUntilItIsFinished) {
  Bench bench;
  const auto pool = bench.ops.add_pool(1, PoolOrder::kFifo);
  const auto x = bench.ops.add_variable();
  bench.add_endless(pool, {}, {x});
  bench.add(pool, 1, {x}, {});
  const auto pushed = bench.push();
  EXPECT_EQ(bench.order, Order{0});
  EXPECT_EQ(bench.engine.pending(), 2u);
  bench.engine.finish(pushed[0]);
  bench.clock.run();
  EXPECT_EQ(bench.order, (Order{0, 1}));
  EXPECT_EQ(bench.engine.pending(), 0u);
}

TEST(OpEngine, SaysWhatAnOperationWaitsFor) {
  Bench bench;
  const auto pool = bench.ops.add_pool(1, PoolOrder::kFifo);
  const auto x = bench.ops.add_variable();
  bench.add_endless(pool, {}, {x});
  bench.add_endless(pool, {x}, {});
  bench.add_endless(pool, {}, {});
  const auto first = bench.push();
  EXPECT_EQ(bench.engine.state(first[0]), State::kRunning);
  EXPECT_EQ(bench.engine.state(first[1]), State::kBlocked);
  EXPECT_EQ(bench.engine.state(first[2]), State::kQueued);
  EXPECT_EQ(bench.engine.all_pending(), first);
  EXPECT_EQ(bench.engine.blockers(first[1]), std::vector{first[0]});
  EXPECT_EQ(bench.engine.on_threads_of(first[2]), std::vector{first[0]});
  const auto next = bench.push();
  const auto third = bench.push();
  EXPECT_EQ(bench.engine.step(third[0]), 2);
  EXPECT_EQ(bench.engine.step(first[1]), 0);
  EXPECT_EQ(bench.engine.all_pending().size(), 9u);
  EXPECT_EQ(bench.engine.blockers(next[0]), (std::vector{first[0], first[1]}));
  bench.engine.finish(first[0]);
  bench.clock.run();
  EXPECT_EQ(bench.engine.state(first[2]), State::kRunning);
}

TEST(OpEngine, StepsThatDifferAreAnError) {
  Bench bench;
  const auto pool = bench.ops.add_pool(1, PoolOrder::kFifo);
  bench.add_endless(pool, {}, {});
  bench.add_endless(pool, {}, {});
  bench.engine.begin_step();
  EXPECT_NE(message_of<InternalError>([&] {
              bench.engine.push(1);
            }).find("every step pushes the same operations"),
            std::string::npos);
  bench.engine.push(0);
  EXPECT_NE(message_of<InternalError>([&] {
              bench.engine.begin_step();
            }).find("a step pushes as many operations"),
            std::string::npos);
  bench.engine.push(1);
  for (int step = 1; step < 128; ++step)
    bench.push();
  EXPECT_NE(message_of<InternalError>([&] {
              bench.push();
            }).find("an operation ends before 128 more steps begin"),
            std::string::npos);
}

constexpr std::int64_t kSteps = 12;
/// Of an operation: when it started or ended, its step, its number, and what it got last.
using Log = std::vector<std::tuple<std::int64_t, bool, std::int64_t, std::size_t, Variable>>;

/// Random operations on a few variables and pools; times of whole seconds make ties likely.
struct Program {
  std::uint32_t number;
  RandomStream random{3, Purpose::kTest};
  std::uint32_t drawn = 0;
  Ops ops;
  std::vector<DependencyEngine::Operation> operations;
  std::int64_t ahead;  ///< steps that are under way at most

  explicit Program(std::uint32_t seed) : number(seed) {
    const std::size_t variables = 2 + upto(5);
    for (std::size_t i = 0; i < variables; ++i)
      ops.add_variable();
    const std::size_t pools = 1 + upto(2);
    for (std::size_t i = 0; i < pools; ++i)
      ops.add_pool(1 + static_cast<int>(upto(2)),
                   upto(1) == 0 ? PoolOrder::kFifo : PoolOrder::kPriority);
    operations.resize(2 + upto(12));
    for (auto& operation : operations) {
      operation.pool = static_cast<Ops::PoolId>(upto(pools - 1));
      operation.priority = -static_cast<std::int32_t>(upto(2));
      for (Variable v = 0; v < variables; ++v) {
        const auto what = upto(5);
        if (what == 0) operation.reads.push_back(v);
        if (what == 1) operation.writes.push_back(v);
      }
    }
    ahead = 1 + static_cast<std::int64_t>(upto(kSteps - 1));
  }
  std::size_t upto(std::size_t most) {
    return static_cast<std::size_t>(random.uniform(number, drawn++) *
                                    static_cast<double>(most + 1));
  }
  /// Of the operation's run, or before its push: none in every other program, so that steps pile
  /// up.
  Duration time(std::uint32_t what, std::int64_t step, std::size_t of) const {
    if (what == 1 && number % 2 == 0) return {};
    const auto place = static_cast<std::uint32_t>(100 * step) + static_cast<std::uint32_t>(of);
    return static_cast<std::int64_t>(random.uniform(number, place, what) * 4) * kSecond;
  }
};

/// Pushes step after step, and no more of them at once than the program has ahead. Events are
/// Events'.
template <class Events, class PushOne>
struct Driver {
  Program& program;
  Events& events;
  PushOne push;
  Log log{};
  std::vector<std::size_t> ended = std::vector<std::size_t>(kSteps);
  std::int64_t step = 0;
  std::size_t next = 0;

  void note(bool is_end, std::int64_t of_step, std::size_t number, Variable got) {
    log.emplace_back(since_start(events.now()) / kSecond, is_end, of_step, number, got);
    if (is_end) ++ended[static_cast<std::size_t>(of_step)];
  }
  void go_on() {
    if (next == program.operations.size()) {
      next = 0;
      ++step;
    }
    if (step == kSteps) return;
    const std::int64_t before = step - program.ahead;
    if (next == 0 && before >= 0 &&
        ended[static_cast<std::size_t>(before)] < program.operations.size()) {
      events.at(When(events.now() + kSecond), Phase::kNormal, [this] { go_on(); });
      return;
    }
    push(step, next++);
    events.at(When(events.now() + program.time(1, step, next)), Phase::kNormal,
              [this] { go_on(); });
  }
};

Log by_oracle(Program& program) {
  Engine clock;
  const std::size_t each = program.operations.size();
  std::function<void(bool, std::size_t, Variable)> note;
  DependencyEngine engine(clock, program.ops.pools(),
                          [&](bool is_end, std::size_t n, Variable got) { note(is_end, n, got); });
  const auto push = [&](std::int64_t step, std::size_t number) {
    engine.push(program.operations[number], program.time(0, step, number));
  };
  Driver<Engine, decltype(push)> driver{program, clock, push};
  note = [&](bool is_end, std::size_t n, Variable got) {
    driver.note(is_end, static_cast<std::int64_t>(n / each), n % each, got);
  };
  clock.at(Time{}, Phase::kNormal, [&] { driver.go_on(); });
  clock.run();
  return driver.log;
}

struct Listens final : OpEngine::Listener {
  explicit Listens(Domain& of) : domain(of) {}
  Domain& domain;
  std::function<void(bool, OpEngine::OperationId)> note;
  std::function<Duration(OpEngine::OperationId)> time;
  std::optional<When> started(OpEngine::OperationId id) override {
    note(false, id);
    return domain.until(time(id), Reason{});
  }
  void ended(OpEngine::OperationId id) override { note(true, id); }
};

Log by_steps(Program& program, bool runs_ahead) {
  Engine clock;
  Domain domain(clock, runs_ahead);
  Listens listener(domain);
  OpEngine engine(domain, listener, program.ops, true);
  const auto push = [&](std::int64_t, std::size_t number) {
    if (number == 0) engine.begin_step();
    if (engine.pushed() == program.ops.operations()) {
      const DependencyEngine::Operation& of = program.operations[number];
      program.ops.add(static_cast<std::uint32_t>(number), of.pool, of.priority, of.reads,
                      of.writes);
    }
    const bool is_free = engine.next_is_free();
    const auto id = engine.push(static_cast<std::uint32_t>(number));
    EXPECT_EQ(is_free, engine.state(id) != State::kBlocked);
  };
  Driver<Domain, decltype(push)> driver{program, domain, push};
  listener.note = [&](bool is_end, OpEngine::OperationId id) {
    driver.note(is_end, engine.step(id), engine.label(id), engine.last_granted(id));
  };
  listener.time = [&](OpEngine::OperationId id) {
    return program.time(0, engine.step(id), engine.label(id));
  };
  domain.at({}, Phase::kNormal, [&] { driver.go_on(); });
  domain.start();
  clock.run();
  EXPECT_EQ(engine.pending(), 0u);
  return driver.log;
}

TEST(OpEngine, DoesWhatDependencyEngineDoes) {
  for (std::uint32_t i = 0; i < 400; ++i) {
    Program program(i);
    const Log expected = by_oracle(program);
    ASSERT_EQ(expected.size(), 2 * kSteps * program.operations.size());
    ASSERT_EQ(by_steps(program, false), expected) << i;
    ASSERT_EQ(by_steps(program, true), expected) << i << ", with Ops that are complete";
  }
}

}  // namespace
}  // namespace steptime
