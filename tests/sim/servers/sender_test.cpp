#include "sim/servers/sender.h"

#include "tests/support/config_text.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// Every all-reduce takes 4 ms, whatever else is under way.
class FourMs final : public Carrier {
 public:
  explicit FourMs(Engine& engine) : engine_(engine) {}
  void all_reduce(std::int32_t, std::uint32_t message, Bytes bytes, When start, Duration) override {
    starts.emplace_back(bytes.count, since_start(start.time) / milliseconds(1));
    engine_.at(start.time + milliseconds(4), Phase::kComplete, [this, message] {
      const Sender::Message& sent = sender->ended(message);
      sender->arrived(sent.buckets());
      sender->give_back(message);
    });
  }
  void broadcast(std::int32_t, std::size_t, When) override {}
  void push(std::span<const Parcel>) override {}
  void answer(std::span<const Timed>) override {}
  Duration latency(std::int32_t, std::int32_t) override { return {}; }
  std::optional<Duration> common_latency() const override { return std::nullopt; }

  Sender* sender = nullptr;
  std::vector<std::pair<std::int64_t, std::int64_t>> starts;  ///< bytes, ms

 private:
  Engine& engine_;
};
using Starts = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Buckets of 1, 2 and 3 B that are ready at 1, 2 and 9 ms.
Starts starts(std::int64_t streams, const char* schedule = nullptr, double factor = 1) {
  TrainingPlan plan;
  plan.transport =
      std::shared_ptr(make<Transport>(fmt::format(R"({{"type": "mpi", "streams": {}}})", streams)));
  plan.step.buckets = {{0, 1, {}, {1}, milliseconds(1), {}},
                       {1, 1, {}, {2}, milliseconds(2), {}},
                       {2, 1, {}, {3}, milliseconds(9), {}}};
  if (schedule != nullptr) plan.schedule = make<Schedule>(schedule);
  Engine engine;
  FourMs carrier(engine);
  SentMessages messages;
  Sender sender(plan, engine, carrier, messages, 0);
  carrier.sender = &sender;
  engine.at(Time{}, Phase::kNormal,
            [&sender, factor] { sender.begin_step(Time{}, factor, When{}); });
  engine.run();
  return carrier.starts;
}

TEST(Sender, WithoutAPolicyBucketsGoInOrder) {
  EXPECT_EQ(starts(1), (Starts{{1, 1}, {2, 5}, {3, 9}}));
}

TEST(Sender, SeveralStreamsOverlap) {
  EXPECT_EQ(starts(2), (Starts{{1, 1}, {2, 2}, {3, 9}}));
}

TEST(Sender, SlowWorkersAreReadyLater) {
  EXPECT_EQ(starts(1, nullptr, 2), (Starts{{1, 2}, {2, 6}, {3, 18}}));
}

TEST(Sender, APolicySaysWhatTravelsTogether) {
  // Cycles of 5 ms: at 5 ms both of the first, at 10 ms the third.
  EXPECT_EQ(starts(1, R"({"type": "tensor-fusion", "cycle": "5 ms"})"), (Starts{{3, 5}, {3, 10}}));
}

TEST(Sender, WhatAPolicySendsWaitsForAStream) {
  const char* all_at_once = R"({"type": "priority", "partition": "9000 TB", "credit": "9000 TB"})";
  EXPECT_EQ(starts(1, all_at_once), (Starts{{1, 1}, {2, 5}, {3, 9}}));
  EXPECT_EQ(starts(2, all_at_once), (Starts{{1, 1}, {2, 2}, {3, 9}}));
}

}  // namespace
}  // namespace steptime
