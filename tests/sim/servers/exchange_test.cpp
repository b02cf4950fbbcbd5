#include "sim/servers/exchange.h"

#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Delivers 1 ms after sending, without limit.
class Instant final : public Carrier {
 public:
  explicit Instant(Engine& clock) : engine(clock) {}
  void push(std::span<const Parcel> parts) override {
    for (const Parcel& part : parts) {
      engine.after(milliseconds(1), Phase::kNormal, [this, part] {
        const Timed now{part, engine.present()};
        exchange->pushed({&now, 1});
      });
    }
  }
  void answer(std::span<const Timed> parts) override {
    for (const auto& [part, at] : parts) {
      answers.push_back({part, at});
      engine.at(at.time + milliseconds(1), Phase::kNormal,
                [this, c = part.client, bucket = part.bucket] {
                  exchange->pulled(c, bucket, 1, engine.present());
                });
    }
  }
  Duration latency(std::int32_t, std::int32_t) override { return milliseconds(1); }
  std::optional<Duration> common_latency() const override { return std::nullopt; }
  void all_reduce(std::int32_t, std::uint32_t, Bytes, When, Duration) override {}
  void broadcast(std::int32_t, std::size_t, When) override {}
  void run() { engine.run(); }

  Engine& engine;
  Exchange* exchange = nullptr;
  std::vector<Timed> answers;
};

/// Two servers hold a half each of the one bucket; three clients.
struct Meeting final : public ExchangeUser {
  explicit Meeting(const std::string& update, bool fused = true,
                   std::optional<Bandwidth> rate = std::nullopt)
      : carrier(engine) {
    plan.update = make<Update>(update);
    plan.aggregation = {.clients = 3, .servers = {.count = 2, .rate = rate, .fused = fused}};
    plan.pieces = {{{.server = 0, .bytes = {4}}, {.server = 1, .bytes = {4}}}};
    exchange = std::make_unique<Exchange>(plan, engine, carrier, *this, nullptr, nullptr);
    carrier.exchange = exchange.get();
  }
  void answered(std::int32_t client, std::size_t) override {
    answers.emplace_back(client, engine.now());
  }
  void exchanged(std::int32_t client, std::size_t, When end) override {
    ends.emplace_back(client, end.time);
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
  Meeting run(kSgd);
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
  Meeting run(kAsgd);
  for (const std::int32_t c : {0, 1, 2})
    run.push_at(Time(milliseconds(10 * c)), c);
  run.engine.run();
  ASSERT_EQ(run.ends.size(), 3u);
  for (const auto& [client, end] : run.ends)
    EXPECT_EQ(end, Time(milliseconds(10 * client + 2)));
  // Nobody had pulled before: client c meets c updates, on both servers.
  EXPECT_EQ(run.exchange->staleness(), (std::vector<std::int64_t>{2, 2, 2}));
}

/// Keeps the sums, which are then answered 5 ms later.
struct Late final : public ExchangeUser {
  explicit Late(Meeting& meeting) : run(meeting) {}
  void answered(std::int32_t client, std::size_t bucket) override { run.answered(client, bucket); }
  void exchanged(std::int32_t client, std::size_t bucket, When end) override {
    run.exchanged(client, bucket, end);
  }
  bool holds_answers(std::uint32_t slot, When end) override {
    slots.push_back(slot);
    run.engine.at(end.time + milliseconds(5), Phase::kNormal,
                  [this, slot] { run.exchange->answer_pushes(slot, run.engine.present()); });
    return true;
  }
  Meeting& run;
  std::vector<std::uint32_t> slots;
};

TEST(Exchange, AUserMayHoldTheAnswersToASum) {
  Meeting run(kSgd);
  Late late(run);
  run.exchange =
      std::make_unique<Exchange>(run.plan, run.engine, run.carrier, late, nullptr, nullptr);
  run.carrier.exchange = run.exchange.get();
  for (const std::int32_t c : {0, 1, 2})
    run.push_at(Time{}, c);
  run.engine.run();
  EXPECT_EQ(late.slots, (std::vector<std::uint32_t>{0, 1}));
  ASSERT_EQ(run.ends.size(), 3u);
  for (const auto& [client, end] : run.ends)
    EXPECT_EQ(end, Time(milliseconds(1 + 5 + 1))) << client;
}

TEST(Exchange, APullIsAskedForWhenAllPushesWereAnswered) {
  Meeting run(kAsgd, false);
  run.push_at(Time{}, 0);
  run.engine.run();
  // Push 1 ms, answer 1 ms, request 1 ms, values 1 ms.
  ASSERT_EQ(run.ends.size(), 1u);
  EXPECT_EQ(run.ends[0].second, Time(milliseconds(4)));
}

/// What a carrier says ahead of time must not overtake at the server's thread.
TEST(Exchange, ThreadsTakeRequestsWhenTheyAreIn) {
  Meeting run(kAsgd, true, Bandwidth{1});  // 4 s for a part in or out
  const auto push = [&](std::int32_t client) {
    return Parcel{.client = client, .server = 0, .slot = 0, .bytes = {4}, .is_push = true};
  };
  run.engine.at(Time{}, Phase::kNormal, [&] {
    const Timed late{push(0), When(Time(seconds(100)))};
    run.exchange->pushed({&late, 1});
  });
  run.engine.at(Time(seconds(1)), Phase::kNormal, [&] {
    const Timed now{push(1), When(Time(seconds(1)))};
    run.exchange->pushed({&now, 1});
  });
  run.engine.run();
  ASSERT_EQ(run.carrier.answers.size(), 2u);
  EXPECT_EQ(run.carrier.answers[0].parcel.client, 1);
  EXPECT_EQ(run.carrier.answers[0].at.time, Time(seconds(1 + 4 + 4)));
  EXPECT_EQ(run.carrier.answers[1].at.time, Time(seconds(100 + 4 + 4)));
}

/// A carrier that looks ahead tells the push that is in last first: the sum is there with that one.
TEST(Exchange, ASumIsAnsweredWhenTheLatestPushIsInAndNotTheOneToldLast) {
  Meeting run(kSgd);
  const auto push = [&](std::int32_t client, int in_ms) {
    return Timed{{.client = client, .server = 0, .slot = 0, .bytes = {4}, .is_push = true},
                 When(Time(milliseconds(in_ms)))};
  };
  // Two steps: what the first one has left must not hold up the second one, nor help it.
  for (const int step_ms : {0, 100}) {
    run.engine.at(Time(milliseconds(step_ms)), Phase::kNormal, [&run, &push, step_ms] {
      for (const auto& [client, ms] : {std::pair{2, 24}, {0, 1}, {1, 2}}) {
        const Timed told = push(client, step_ms + ms);
        run.exchange->pushed({&told, 1});
      }
    });
  }
  run.engine.run();
  ASSERT_EQ(run.carrier.answers.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(run.carrier.answers[i].at.time, Time(milliseconds(i < 3 ? 24 : 124))) << i;
}

}  // namespace
}  // namespace steptime
