// Does the engine of a program that repeats its steps do what MXNet's does? DependencyEngine, which
// knows nothing of steps, is the oracle.
#include "sim/mxnet/step_engine.h"

#include "sim/core/error.h"
#include "sim/core/random.h"
#include "sim/mxnet/dependency_engine.h"

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kSecond{1'000'000'000'000};
constexpr std::int64_t kSteps = 4;

using Variable = StepShape::Variable;
using Variables = std::vector<Variable>;
/// Of an operation: when it started or ended, its step, its number, and what it got last.
using Log = std::vector<std::tuple<std::int64_t, bool, std::int64_t, std::size_t, Variable>>;

struct Operation {
  StepShape::Pool pool = 0;
  std::int32_t priority = 0;
  Variables reads{};
  Variables writes{};
};

/// Random operations on a few variables and pools; times of whole seconds make ties likely.
struct Program {
  std::uint32_t number;
  RandomStream random{3, Purpose::kTest};
  std::uint32_t drawn = 0;
  StepShape shape;
  std::vector<Operation> operations;

  explicit Program(std::uint32_t seed) : number(seed) {
    const std::size_t variables = 2 + upto(5);
    for (std::size_t i = 0; i < variables; ++i)
      shape.add_variable();
    const std::size_t pools = 1 + upto(2);
    for (std::size_t i = 0; i < pools; ++i)
      shape.add_pool(1 + static_cast<int>(upto(2)),
                     upto(1) == 0 ? PoolOrder::kFifo : PoolOrder::kPriority);
    operations.resize(2 + upto(12));
    for (Operation& operation : operations) {
      operation.pool = static_cast<StepShape::Pool>(upto(pools - 1));
      operation.priority = -static_cast<std::int32_t>(upto(2));
      for (Variable v = 0; v < variables; ++v) {
        const auto what = upto(5);
        if (what == 0) operation.reads.push_back(v);
        if (what == 1) operation.writes.push_back(v);
      }
    }
  }
  std::size_t upto(std::size_t most) {
    return static_cast<std::size_t>(random.uniform(number, drawn++) *
                                    static_cast<double>(most + 1));
  }
  /// Of the operation's run, or before its push.
  Duration time(std::uint32_t what, std::int64_t step, std::size_t of) const {
    const auto place = static_cast<std::uint32_t>(100 * step) + static_cast<std::uint32_t>(of);
    return static_cast<std::int64_t>(random.uniform(number, place, what) * 4) * kSecond;
  }
};

/// Pushes step after step; the next but one when all of a step has ended. Events are Events'.
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
    const auto two_ago = static_cast<std::size_t>(step - 2);
    if (next == 0 && step >= 2 && ended[two_ago] < program.operations.size()) {
      events.after(kSecond, Phase::kNormal, [this] { go_on(); });
      return;
    }
    push(step, next++);
    events.after(program.time(1, step, next), Phase::kNormal, [this] { go_on(); });
  }
};

struct Oracle final : DependencyEngine::Listener {
  Engine clock;
  DependencyEngine engine{clock, *this};
  std::function<void(bool, DependencyEngine::OperationId, std::uint64_t)> note;
  void started(DependencyEngine::OperationId id, std::uint64_t tag) override {
    note(false, id, tag);
  }
  void ended(DependencyEngine::OperationId id, std::uint64_t tag) override { note(true, id, tag); }
};

Log by_oracle(Program& program) {
  Oracle oracle;
  for (std::size_t i = 0; i < program.shape.variables(); ++i)
    oracle.engine.add_variable();
  for (const StepShape::PoolOf& pool : program.shape.pools())
    oracle.engine.add_pool(pool.threads, pool.order);
  const auto push = [&](std::int64_t step, std::size_t number) {
    const Operation& of = program.operations[number];
    oracle.engine.push({of.pool, of.priority, static_cast<std::uint64_t>(step) << 32 | number,
                        program.time(0, step, number)},
                       of.reads, of.writes);
  };
  Driver<Engine, decltype(push)> driver{program, oracle.clock, push};
  oracle.note = [&](bool is_end, DependencyEngine::OperationId id, std::uint64_t tag) {
    driver.note(is_end, static_cast<std::int64_t>(tag >> 32), tag & 0xffffffff,
                oracle.engine.last_granted(id));
  };
  oracle.clock.at(Time{}, Phase::kNormal, [&] { driver.go_on(); });
  oracle.clock.run();
  EXPECT_EQ(oracle.engine.pending(), 0u);
  return driver.log;
}

struct Listens final : StepEngine::Listener {
  std::function<void(bool, StepEngine::OperationId)> note;
  std::function<std::optional<Duration>(StepEngine::OperationId)> time;
  std::optional<Duration> started(StepEngine::OperationId id) override {
    note(false, id);
    return time(id);
  }
  void ended(StepEngine::OperationId id) override { note(true, id); }
};

Log by_steps(Program& program, bool runs_ahead) {
  Engine clock;
  Domain domain(clock, runs_ahead);
  Listens listener;
  StepEngine engine(domain, listener, program.shape, true);
  const auto push = [&](std::int64_t, std::size_t number) {
    if (number == 0) engine.begin_step();
    if (engine.pushed() == program.shape.operations()) {
      const Operation& of = program.operations[number];
      program.shape.add(static_cast<std::uint32_t>(number), of.pool, of.priority, of.reads,
                        of.writes);
    }
    engine.push(static_cast<std::uint32_t>(number));
  };
  Driver<Domain, decltype(push)> driver{program, domain, push};
  listener.note = [&](bool is_end, StepEngine::OperationId id) {
    driver.note(is_end, engine.step(id), engine.label(id), engine.last_granted(id));
  };
  listener.time = [&](StepEngine::OperationId id) {
    return program.time(0, engine.step(id), engine.label(id));
  };
  domain.at({}, Phase::kNormal, [&] { driver.go_on(); });
  domain.start();
  clock.run();
  EXPECT_EQ(engine.pending(), 0u);
  return driver.log;
}

TEST(StepEngine, DoesWhatDependencyEngineDoes) {
  for (std::uint32_t i = 0; i < 400; ++i) {
    Program program(i);
    const Log expected = by_oracle(program);
    ASSERT_EQ(expected.size(), 2 * kSteps * program.operations.size());
    ASSERT_EQ(by_steps(program, false), expected) << i;
    ASSERT_EQ(by_steps(program, true), expected) << i << ", with a shape that is complete";
  }
}

struct TwoOperations {
  StepShape shape;
  Engine clock;
  Domain domain{clock, false};
  Listens listener;
  StepShape::Pool pool = shape.add_pool(1, PoolOrder::kFifo);
  Variable x = shape.add_variable();
  StepEngine engine{domain, listener, shape, false};

  TwoOperations() {
    shape.add(7, pool, 0, {}, Variables{x});
    shape.add(8, pool, 0, Variables{x}, {});
    listener.note = [](bool, StepEngine::OperationId) {};
    listener.time = [](StepEngine::OperationId) { return std::nullopt; };
  }
};

TEST(StepEngine, SaysWhatAnOperationWaitsFor) {
  TwoOperations two;
  two.shape.add(9, two.pool, 0, {}, {});
  two.engine.begin_step();
  const auto writer = two.engine.push(7);
  const auto reader = two.engine.push(8);
  const auto queued = two.engine.push(9);
  two.clock.run();
  EXPECT_EQ(two.engine.state(writer), StepEngine::State::kRunning);
  EXPECT_EQ(two.engine.state(reader), StepEngine::State::kBlocked);
  EXPECT_EQ(two.engine.state(queued), StepEngine::State::kQueued);
  EXPECT_EQ(two.engine.all_pending(), (std::vector{writer, reader, queued}));
  EXPECT_EQ(two.engine.blockers(reader), std::vector{writer});
  EXPECT_EQ(two.engine.on_threads_of(queued), std::vector{writer});
  two.engine.begin_step();
  const auto next = two.engine.push(7);
  EXPECT_EQ(two.engine.step(next), 1);
  EXPECT_EQ(two.engine.step(reader), 0);
  EXPECT_EQ(two.engine.blockers(next), (std::vector{writer, reader}));
  two.engine.finish(writer);
  two.clock.run();
  EXPECT_EQ(two.engine.state(queued), StepEngine::State::kRunning);
}

template <class Act>
void expect_fails(const std::string& what, Act act) {
  try {
    act();
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
  }
}

TEST(StepEngine, StepsThatDifferAreAnError) {
  TwoOperations two;
  two.engine.begin_step();
  expect_fails("every step pushes the same operations", [&] { two.engine.push(8); });
  two.engine.push(7);
  expect_fails("a step pushes as many operations", [&] { two.engine.begin_step(); });
  two.engine.push(8);
  two.engine.begin_step();
  two.engine.push(7);
  two.engine.push(8);
  two.engine.begin_step();
  expect_fails("an operation ends before it is pushed two steps later",
               [&] { two.engine.push(7); });
}

}  // namespace
}  // namespace steptime
