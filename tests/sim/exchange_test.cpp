#include "sim/exchange.h"

#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// Delivers 1 ms after sending, without limit.
class Instant final : public Carrier {
 public:
  explicit Instant(Engine& clock) : engine(clock) {}
  void send(const Parcel& parcel, Time at) override {
    parcels.push_back(parcel);
    engine.at(at + milliseconds(1), Phase::kNormal,
              [this, parcel] { exchange->arrived(parcel, engine.now()); });
  }
  Duration latency(std::int32_t, std::int32_t) override { return milliseconds(1); }
  void all_reduce(std::int32_t, std::size_t, Time) override {}
  void broadcast(std::int32_t, std::size_t, Time) override {}
  void run() override { engine.run(); }

  Engine& engine;
  Exchange* exchange = nullptr;
  std::vector<Parcel> parcels;
};

/// Two servers hold a half each of the one bucket; three clients.
struct Meeting final : public ExchangeUser {
  explicit Meeting(Update::Kind kind, bool fused = true) : carrier(engine) {
    plan.update.kind = kind;
    plan.aggregation = {.clients = 3, .servers = {.count = 2, .fused = fused}};
    plan.pieces = {{{.server = 0, .bytes = {4}}, {.server = 1, .bytes = {4}}}};
    exchange = std::make_unique<Exchange>(plan, engine, carrier, *this, nullptr, nullptr);
    carrier.exchange = exchange.get();
  }
  void answered(std::int32_t client, std::size_t) override {
    answers.emplace_back(client, engine.now());
  }
  void exchanged(std::int32_t client, std::size_t, Time end) override {
    ends.emplace_back(client, end);
  }
  void push_at(Time time, std::int32_t client) {
    engine.at(time, Phase::kNormal, [this, client] { exchange->push(client, 0); });
  }

  Engine engine;
  TrainingPlan plan;
  Instant carrier;
  std::unique_ptr<Exchange> exchange;
  std::vector<std::pair<std::int32_t, Time>> answers;
  std::vector<std::pair<std::int32_t, Time>> ends;
};

TEST(Exchange, SynchronousServersAnswerWhenAllHavePushed) {
  Meeting run(Update::Kind::kSgd);
  for (const std::int32_t c : {0, 1, 2})
    run.push_at(Time(milliseconds(10 * c)), c);
  run.engine.run();
  ASSERT_EQ(run.ends.size(), 3u);
  for (const auto& [client, end] : run.ends)
    EXPECT_EQ(end, Time(milliseconds(20 + 2))) << client;
  EXPECT_EQ(run.exchange->messages(), 3 * 2 * 2);
  EXPECT_EQ(run.exchange->staleness(), (std::vector<std::int64_t>{6}));
}

TEST(Exchange, AsynchronousServersAnswerAtOnceAndCountStaleness) {
  Meeting run(Update::Kind::kAsgd);
  for (const std::int32_t c : {0, 1, 2})
    run.push_at(Time(milliseconds(10 * c)), c);
  run.engine.run();
  ASSERT_EQ(run.ends.size(), 3u);
  for (const auto& [client, end] : run.ends)
    EXPECT_EQ(end, Time(milliseconds(10 * client + 2)));
  // Nobody had pulled before: client c meets c updates, on both servers.
  EXPECT_EQ(run.exchange->staleness(), (std::vector<std::int64_t>{2, 2, 2}));
}

TEST(Exchange, EveryClientBeginsWithAnotherServer) {
  Meeting run(Update::Kind::kAsgd);
  for (const std::int32_t c : {0, 1})
    run.push_at(Time{}, c);
  run.engine.step();
  run.engine.step();
  ASSERT_EQ(run.carrier.parcels.size(), 4u);
  EXPECT_EQ(run.carrier.parcels[0].server, 0);
  EXPECT_EQ(run.carrier.parcels[2].server, 1);
}

TEST(Exchange, APullIsAskedForWhenAllPushesWereAnswered) {
  Meeting run(Update::Kind::kAsgd, false);
  run.push_at(Time{}, 0);
  run.engine.run();
  // Push 1 ms, answer 1 ms, request 1 ms, values 1 ms.
  ASSERT_EQ(run.ends.size(), 1u);
  EXPECT_EQ(run.ends[0].second, Time(milliseconds(4)));
}

}  // namespace
}  // namespace steptime
