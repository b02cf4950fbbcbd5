#include "sim/servers/channel_carrier.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
}

/// 2 ms before the wire, 3 ms after it.
class TwoAndThree final : public ChannelEnds {
 public:
  explicit TwoAndThree(Engine& engine) : engine_(engine) {}
  When send(const Parcel&) override { return When(engine_.now() + milliseconds(2)); }
  When receive(const Parcel&) override { return When(engine_.now() + milliseconds(3)); }

 private:
  Engine& engine_;
};

/// A wire that takes 10 ms, and whoever uses it.
class Wire final : public Carrier {
 public:
  Wire(Engine& engine, CarrierUser& user) : engine_(engine), user_(user) {}
  void push(std::span<const Parcel> parts) override {
    for (const Parcel& part : parts) {
      const Timed in{part, When(engine_.now() + milliseconds(10))};
      user_.pushed({&in, 1});
    }
  }
  void answer(std::span<const Timed> parts) override {
    for (const Timed& part : parts)
      user_.part_pulled({part.parcel, When(part.at.time + milliseconds(10))});
  }
  Duration latency(std::int32_t, std::int32_t) override { return milliseconds(1); }
  std::optional<Duration> common_latency() const override { return milliseconds(1); }
  void all_reduce(std::int32_t client, std::uint32_t message, Bytes, When, Duration) override {
    user_.reduced(client, message);
  }
  void broadcast(std::int32_t client, std::size_t bucket, When start) override {
    user_.broadcasted(client, bucket, start);
  }

 private:
  Engine& engine_;
  CarrierUser& user_;
};

class Log final : public CarrierUser {
 public:
  void pushed(std::span<const Timed> parts) override {
    for (const Timed& part : parts)
      lines.push_back(fmt::format("pushed {} at {}", part.parcel.slot, ms(part.at.time)));
  }
  void pulled(std::int32_t, std::size_t bucket, std::int32_t parts, When in) override {
    lines.push_back(fmt::format("pulled {} of {} at {}", parts, bucket, ms(in.time)));
  }
  void reduced(std::int32_t, std::uint32_t message) override {
    lines.push_back(fmt::format("reduced {}", message));
  }
  void broadcasted(std::int32_t, std::size_t bucket, When) override {
    lines.push_back(fmt::format("broadcasted {}", bucket));
  }
  std::vector<std::string> lines;
};

Parcel parcel(std::int32_t server, std::uint32_t slot, bool is_push) {
  return {
      .client = 0, .server = server, .slot = slot, .bucket = 7, .bytes = {1}, .is_push = is_push};
}

TEST(ChannelCarrier, AddsBothEnds) {
  Engine engine;
  Log log;
  ChannelCarrier carrier(engine, std::make_unique<TwoAndThree>(engine), 0, log,
                         [&](CarrierUser& user) { return std::make_unique<Wire>(engine, user); });
  engine.at(Time{}, Phase::kNormal, [&] {
    const std::vector<Parcel> parts{parcel(0, 1, true), parcel(1, 2, true)};
    carrier.push(parts);
    const Timed later{parcel(0, 3, false), When(Time(milliseconds(5)))};
    carrier.answer({&later, 1});
    carrier.all_reduce(0, 4, {1}, When{}, {});
    carrier.broadcast(0, 5, When{});
  });
  engine.run();
  EXPECT_EQ(log.lines, (std::vector<std::string>{"reduced 4", "broadcasted 5", "pushed 1 at 15",
                                                 "pushed 2 at 15", "pulled 1 of 7 at 20"}));
  EXPECT_EQ(carrier.latency(0, 0), milliseconds(1));
  EXPECT_EQ(carrier.common_latency(), milliseconds(1));
}

TEST(ChannelCarrier, EveryClientBeginsWithAnotherServer) {
  Engine engine;
  Log log;
  ChannelCarrier carrier(engine, std::make_unique<TwoAndThree>(engine), 0, log,
                         [&](CarrierUser& user) { return std::make_unique<Wire>(engine, user); });
  engine.at(Time{}, Phase::kNormal, [&] {
    std::vector<Parcel> parts{parcel(0, 1, true), parcel(1, 2, true), parcel(2, 3, true)};
    for (Parcel& part : parts)
      part.client = 4;
    carrier.push(parts);
  });
  engine.run();
  // Client 4 of 3 servers: 4 mod 3.
  EXPECT_EQ(log.lines,
            (std::vector<std::string>{"pushed 2 at 15", "pushed 3 at 15", "pushed 1 at 15"}));
}

TEST(ChannelCarrier, LeavesServersInTheNodeAlone) {
  Engine engine;
  Log log;
  ChannelCarrier carrier(engine, std::make_unique<TwoAndThree>(engine), 1, log,
                         [&](CarrierUser& user) { return std::make_unique<Wire>(engine, user); });
  engine.at(Time{}, Phase::kNormal, [&] {
    const std::vector<Parcel> parts{parcel(0, 1, true), parcel(1, 2, true)};
    carrier.push(parts);
  });
  engine.run();
  EXPECT_EQ(log.lines, (std::vector<std::string>{"pushed 1 at 10", "pushed 2 at 15"}));
}

}  // namespace
}  // namespace steptime
