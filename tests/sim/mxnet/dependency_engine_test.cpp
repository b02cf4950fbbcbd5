// Does the engine grant, queue and start as MXNet's does? Known answers: engine_cases.json, which
// names its source.
#include "sim/mxnet/dependency_engine.h"

#include "sim/config/json.h"
#include "sim/core/error.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Variables = std::vector<DependencyEngine::Variable>;

constexpr Duration kSecond{1'000'000'000'000};

/// An engine whose operations are named by their tag, with times in s.
struct Bench final : DependencyEngine::Listener {
  Engine clock;
  DependencyEngine engine{clock, *this};
  std::vector<std::uint64_t> order;
  std::map<std::uint64_t, std::pair<double, double>> times;

  void started(DependencyEngine::OperationId, std::uint64_t tag) override {
    order.push_back(tag);
    times[tag].first = to_seconds(since_start(clock.now()));
  }
  void ended(DependencyEngine::OperationId, std::uint64_t tag) override {
    times[tag].second = to_seconds(since_start(clock.now()));
  }
  void push(std::uint64_t tag, DependencyEngine::Pool pool, std::int64_t seconds,
            const Variables& reads, const Variables& writes, std::int32_t priority = 0) {
    engine.push({pool, priority, tag, seconds * kSecond}, reads, writes);
  }
};
using Times = std::pair<double, double>;

TEST(DependencyEngine, KnownAnswers) {
  const std::string file = STEPTIME_TESTS_DIR "/sim/mxnet/engine_cases.json";
  const Json cases = parse_json(read_file(file), file).at("cases");
  ASSERT_EQ(cases.size(), 7u);
  for (const Json& each : cases) {
    SCOPED_TRACE(each.at("name").get<std::string>());
    Bench bench;
    std::map<std::string, DependencyEngine::Pool> pools;
    for (const auto& [name, pool] : each.at("pools").items()) {
      pools[name] = bench.engine.add_pool(pool.at("threads").get<int>(), pool.at("queue") == "prio"
                                                                             ? PoolOrder::kPriority
                                                                             : PoolOrder::kFifo);
    }
    std::map<std::string, DependencyEngine::Variable> variables;
    const auto named = [&](const Json& names) {
      Variables all;
      for (const Json& name : names) {
        const auto text = name.get<std::string>();
        if (!variables.contains(text)) variables[text] = bench.engine.add_variable();
        all.push_back(variables[text]);
      }
      return all;
    };
    std::vector<std::string> names;
    for (const Json& op : each.at("ops")) {
      bench.push(names.size(), pools.at(op.at("pool")), op.at("d").get<int>(), named(op.at("r")),
                 named(op.at("w")), op.at("prio").get<std::int32_t>());
      names.push_back(op.at("name"));
    }
    bench.clock.run();
    std::vector<std::string> order;
    for (const std::uint64_t tag : bench.order)
      order.push_back(names[tag]);
    EXPECT_EQ(order, each.at("start_order").get<std::vector<std::string>>());
    for (std::size_t i = 0; i < names.size(); ++i)
      EXPECT_EQ(bench.times[i], each.at("start_end").at(names[i]).get<Times>()) << names[i];
    EXPECT_EQ(bench.engine.pending(), 0u);
  }
}

// r1 ----+                  The waiting write holds back the later read, although r1 runs and a
//        v                  read could share with it: MXNet's queue is first in, first out.
// X:  r1 | w | r2
TEST(DependencyEngine, AWaitingWriteHoldsBackLaterReads) {
  Bench bench;
  const auto pool = bench.engine.add_pool(9, PoolOrder::kFifo);
  const auto x = bench.engine.add_variable();
  bench.push(1, pool, 2, {x}, {});
  bench.push(2, pool, 1, {}, {x});
  bench.push(3, pool, 1, {x}, {});
  bench.clock.run();
  EXPECT_EQ(bench.times[1], Times(0, 2));
  EXPECT_EQ(bench.times[2], Times(2, 3));
  EXPECT_EQ(bench.times[3], Times(3, 4));
}

// a --writes X--> c      c waits for both, and says which of them came last.
// b --writes Y----^
TEST(DependencyEngine, KnowsWhatMadeAnOperationReady) {
  struct Asks final : DependencyEngine::Listener {
    DependencyEngine* engine = nullptr;
    std::map<std::uint64_t, DependencyEngine::Variable> cause;
    void started(DependencyEngine::OperationId id, std::uint64_t tag) override {
      cause[tag] = engine->last_granted(id);
    }
    void ended(DependencyEngine::OperationId, std::uint64_t) override {}
  } asks;
  Engine clock;
  DependencyEngine engine(clock, asks);
  asks.engine = &engine;
  const auto pool = engine.add_pool(9, PoolOrder::kFifo);
  const auto x = engine.add_variable();
  const auto y = engine.add_variable();
  engine.push({pool, 0, 1, 3 * kSecond}, {}, Variables{x});
  engine.push({pool, 0, 2, 1 * kSecond}, {}, Variables{y});
  engine.push({pool, 0, 3, 1 * kSecond}, Variables{x, y}, {});
  clock.run();
  EXPECT_EQ(asks.cause[1], DependencyEngine::kPushed);
  EXPECT_EQ(asks.cause[3], x);
}

TEST(DependencyEngine, APoolRunsAsManyAsItHasThreads) {
  for (const int threads : {1, 2, 3}) {
    Bench bench;
    const auto pool = bench.engine.add_pool(threads, PoolOrder::kFifo);
    for (std::uint64_t i = 0; i < 6; ++i)
      bench.push(i, pool, 1, {}, {});
    bench.clock.run();
    EXPECT_EQ(bench.times[5].second, 6.0 / threads) << threads;
  }
}

// The idle thread takes what is pushed first; what waits goes by priority, and the two of priority
// 7 in the order of a heap (thread_pool_test.cpp), here that of the pushes.
TEST(DependencyEngine, AnIdleThreadTakesAtOnceThenPriorityDecides) {
  Bench bench;
  const auto pool = bench.engine.add_pool(1, PoolOrder::kPriority);
  const std::vector<std::int32_t> priorities{-3, 7, -3, 0, 7};
  for (std::uint64_t i = 0; i < 5; ++i)
    bench.push(i, pool, 1, {}, {}, priorities[i]);
  bench.clock.run();
  EXPECT_EQ(bench.order, (std::vector<std::uint64_t>{0, 1, 4, 3, 2}));
}

// Two idle threads and eight equal copies.
TEST(DependencyEngine, EqualCopiesThatWaitAreAHeap) {
  Bench bench;
  const auto pool = bench.engine.add_pool(2, PoolOrder::kPriority);
  for (std::uint64_t i = 0; i < 8; ++i)
    bench.push(i, pool, 1, {}, {}, -5);
  bench.clock.run();
  EXPECT_EQ(bench.order, (std::vector<std::uint64_t>{0, 1, 2, 4, 7, 6, 3, 5}));
}

TEST(DependencyEngine, AVariableNamedTwiceIsAnError) {
  for (const bool writes : {false, true}) {
    Bench bench;
    const auto pool = bench.engine.add_pool(1, PoolOrder::kFifo);
    const auto x = bench.engine.add_variable();
    try {
      if (writes)
        bench.push(0, pool, 1, {}, {x, x});
      else
        bench.push(0, pool, 1, {x}, {x});
      FAIL();
    } catch (const InternalError& e) {
      EXPECT_NE(std::string(e.what()).find("an operation names variable 0 twice"),
                std::string::npos);
    }
  }
}

TEST(DependencyEngine, AnOperationWithoutADurationRunsUntilItIsFinished) {
  Bench bench;
  const auto pool = bench.engine.add_pool(1, PoolOrder::kFifo);
  const auto x = bench.engine.add_variable();
  const auto writer = bench.engine.push({pool, 0, 1, std::nullopt}, {}, Variables{x});
  bench.push(2, pool, 1, {x}, {});
  bench.clock.run();
  EXPECT_EQ(bench.order, std::vector<std::uint64_t>{1});
  EXPECT_EQ(bench.engine.pending(), 2u);
  bench.engine.finish(writer);
  bench.clock.run();
  EXPECT_EQ(bench.order, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(bench.engine.pending(), 0u);
}

}  // namespace
}  // namespace steptime
