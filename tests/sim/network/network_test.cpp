#include "sim/network/network.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/wires.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// 1e9 B/s: a byte takes 1000 ps.
const Channel kWire{{1e9}, Duration(500)};

/// 0 --c0--> 1 --c1--> 2: endpoints in a row.
Wires line(Channel first = kWire, Channel second = kWire) {
  Wires wires(3, {first, second});
  wires.set(0, 1, {0});
  wires.set(1, 2, {1});
  wires.set(0, 2, {0, 1});
  return wires;
}

TEST(Network, IdleRouteCostsLatencyPlusSizeOverBandwidth) {
  const Wires wires = line(kWire, {{0.5e9}, Duration(700)});
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 2, 10);
  engine.run();
  EXPECT_EQ(box.at[0], 500 + 700 + 10 * 2000);  // cut-through: the slower channel once
}

TEST(Network, StoreAndForwardPaysEveryHop) {
  const Wires wires = line(kWire, {{0.5e9}, Duration(700)});
  Engine engine;
  Network network(engine, wires, {.store_and_forward = true});
  Mailbox box(network);
  box.send(0, 2, 10);
  engine.run();
  EXPECT_EQ(box.at[0], 500 + 10 * 1000 + 700 + 10 * 2000);
  EXPECT_EQ(network.messages_delivered(), 1);
}

TEST(Network, EmptyMessageCostsItsLatency) {
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 2, 0);
  engine.run();
  EXPECT_EQ(box.at[0], 1000);
}

TEST(Network, MessageToOneselfTakesNoTime) {
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(1, 1, 100);
  engine.run();
  EXPECT_EQ(box.at[0], 0);
}

TEST(Network, EagerAndRendezvousOverheads) {
  const Wires wires = line();
  Engine engine;
  Network network(
      engine, wires,
      {.eager_limit = {100}, .eager_overhead = Duration(3), .rendezvous_overhead = Duration(90)});
  Mailbox box(network);
  box.send(0, 1, 100, 0);
  engine.run();
  box.send(1, 2, 101, 1);
  engine.run();
  EXPECT_EQ(box.at[0], 500 + 100'000 + 3);
  EXPECT_EQ(box.at[1] - box.at[0], 500 + 101'000 + 90);
}

TEST(Network, TwoMessagesShareAChannel) {
  // Both 100 B from the start: half the rate each, until 200,000 ps.
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 1, 100, 0);
  box.send(0, 1, 100, 1);
  engine.run();
  EXPECT_EQ(box.at[0], 200'000 + 500);
  EXPECT_EQ(box.at[1], 200'000 + 500);
}

TEST(Network, ALateMessageSlowsTheFirstDown) {
  // 0: 100 B at 0. 1: 100 B at 40,000 ps, when 60 B of the first are left. They share until the
  // first is through at 40,000 + 2 * 60,000; the second has 40 B left then.
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send_at(Time(Duration(0)), 0, 1, 100);
  box.send_at(Time(Duration(40'000)), 0, 1, 100);
  engine.run();
  EXPECT_EQ(box.at[0], 160'000 + 500);
  EXPECT_EQ(box.at[1], 200'000 + 500);
}

void set_rate_at(Network& network, std::int64_t at, ChannelId channel, double rate) {
  network.engine().at(Time(Duration(at)), Phase::kNormal,
                      [&network, channel, rate] { network.set_rate(channel, rate); });
}

TEST(Network, AMessageGoesOnAtTheRateThatItsChannelHas) {
  // 100 B, of which 50 are sent after 50,000 ps; at half the rate the others take 100,000 ps: 1.5
  // times as long in all. From 120,000 ps on a quarter of the first rate: 15 B are left, 4000 ps
  // each.
  const Wires wires = line();
  for (const bool twice : {false, true}) {
    Engine engine;
    Network network(engine, wires);
    Mailbox box(network);
    box.send(0, 1, 100);
    set_rate_at(network, 50'000, 0, 0.5e9);
    if (twice) set_rate_at(network, 120'000, 0, 0.25e9);
    engine.run();
    EXPECT_EQ(box.at[0], (twice ? 120'000 + 60'000 : 150'000) + 500);
    EXPECT_EQ(network.rate(0), twice ? 0.25e9 : 0.5e9);
  }
}

TEST(Network, MessagesThatShareAChannelShareItsNewRate) {
  // 100 B each: 50 B of either are left at 100,000 ps. At half the rate a byte of each takes 4000
  // ps; from 180,000 ps on, when 30 B are left, 1000 ps at twice the first rate.
  const Wires wires = line();
  for (const bool twice : {false, true}) {
    Engine engine;
    Network network(engine, wires);
    Mailbox box(network);
    box.send(0, 1, 100, 0);
    box.send(0, 1, 100, 1);
    set_rate_at(network, 100'000, 0, 0.5e9);
    if (twice) set_rate_at(network, 180'000, 0, 2e9);
    engine.run();
    for (const std::int32_t name : {0, 1})
      EXPECT_EQ(box.at[name], (twice ? 180'000 + 30'000 : 300'000) + 500);
  }
}

TEST(Network, ANewRateMovesTheBottleneck) {
  // 0->1 shares c0 with 0->2, which goes over c1, too: 100 and 250 B. At 100,000 ps either has sent
  // 50 B. Then c1 has an eighth of its rate, which 0->2 gets, and 0->1 the other seven eighths: its
  // 50 B take 57,143 ps. At 1,000,000 ps, when c1 has all of its rate again, 0->2 is alone, and has
  // 250 - 50 - 112.5 B left.
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 1, 100, 0);
  box.send(0, 2, 250, 1);
  set_rate_at(network, 100'000, 1, 0.125e9);
  set_rate_at(network, 1'000'000, 1, 1e9);
  engine.run();
  EXPECT_EQ(box.at[0], 157'143 + 500);
  EXPECT_EQ(box.at[1], 1'000'000 + 87'500 + 2 * 500);
}

TEST(Network, ANewRateCountsFromTheInstantOn) {
  // Set when 100 B have been sent at the same instant, and for those that come when the channel is
  // idle again: 2000 ps a byte.
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 1, 100, 7);
  network.set_rate(0, 0.5e9);
  box.send_at(Time(Duration(300'000)), 0, 1, 100);
  engine.run();
  EXPECT_EQ(box.at[7], 200'000 + 500);
  EXPECT_EQ(box.at[0], 300'000 + 200'000 + 500);
}

TEST(Network, AFreedChannelIsIdleAgain) {
  // The second starts at the very instant at which the first is through: no sharing.
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send_at(Time(Duration(0)), 0, 1, 100);
  box.send_at(Time(Duration(100'000)), 0, 1, 100);
  engine.run();
  EXPECT_EQ(box.at[0], 100'500);
  EXPECT_EQ(box.at[1], 200'500);
}

TEST(Network, RatesAreMaxMinFair) {
  // c0 at 1e9 carries 0->1 and 0->2; c1 at 0.25e9 carries 0->2 alone: 0->2 gets 0.25, 0->1 the
  // other 0.75. 0->1: 75 B in 100,000 ps.
  const Wires wires = line(kWire, {{0.25e9}, Duration(0)});
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 1, 75, 0);
  box.send(0, 2, 100, 1);
  engine.run();
  EXPECT_EQ(box.at[0], 100'000 + 500);
  EXPECT_EQ(box.at[1], 400'000 + 500);
}

TEST(Network, FifoChannelTakesTurnsInOrderOfArrival) {
  Channel fifo = kWire;
  fifo.fifo = true;
  const Wires wires = line(fifo, kWire);
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 1, 100, 0);
  box.send(0, 2, 50, 1);
  box.send(0, 1, 10, 2);
  engine.run();
  EXPECT_EQ(box.at[0], 100'000 + 500);
  EXPECT_EQ(box.at[1], 150'000 + 1000);
  EXPECT_EQ(box.at[2], 160'000 + 500);
}

TEST(Network, FifoWaitsForAMessageThatSharesElsewhere) {
  // c0 is FIFO, c1 is shared. 0->2 (100 B) and 1->2 (100 B) share c1 until 200,000 ps; 0->1 waits
  // for c0 until then.
  Channel fifo = kWire;
  fifo.fifo = true;
  const Wires wires = line(fifo, kWire);
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 2, 100, 0);
  box.send(1, 2, 100, 1);
  box.send(0, 1, 10, 2);
  engine.run();
  EXPECT_EQ(box.at[0], 200'000 + 1000);
  EXPECT_EQ(box.at[1], 200'000 + 500);
  EXPECT_EQ(box.at[2], 210'000 + 500);
}

TEST(Network, CountsTheBytesOfEveryChannel) {
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send(0, 2, 70, 0);
  box.send(0, 1, 30, 1);
  engine.run();
  EXPECT_EQ(network.carried(0), 100);
  EXPECT_EQ(network.carried(1), 70);
  EXPECT_EQ(box.bytes, 100);
}

TEST(Network, DeviceDoesOneThingAtATime) {
  // Endpoint 1: 10 ps, then 5 ps behind them; endpoint 2 has a device of its own.
  struct Devices final : MessageSink {
    explicit Devices(const Engine& e) : engine(e) {}
    void delivered(const Message&) override {}
    void device_done(std::int32_t who) override {
      done.emplace_back(who, since_start(engine.now()).count());
    }
    const Engine& engine;
    std::vector<std::pair<std::int32_t, std::int64_t>> done;  ///< who and when, ps
  };
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Devices devices(engine);
  network.occupy_device(1, Duration(10), devices, 0);
  network.occupy_device(1, Duration(5), devices, 1);
  network.occupy_device(2, Duration(5), devices, 2);
  engine.run();
  const std::vector<std::pair<std::int32_t, std::int64_t>> expected{{2, 5}, {0, 10}, {1, 15}};
  EXPECT_EQ(devices.done, expected);
}

TEST(Network, SeveralNetworksRunOnOneClock) {
  // The same two messages as in TwoMessagesShareAChannel on one network, and one message that is
  // alone on another of half its latency.
  const Wires wires = line();
  const Wires others = line({{1e9}, Duration(250)});
  Engine engine;
  Network network(engine, wires);
  Network other(engine, others);
  Mailbox box(network);
  Mailbox other_box(other);
  box.send(0, 1, 100, 0);
  other_box.send(0, 1, 100, 0);
  box.send(0, 1, 100, 1);
  engine.run();
  EXPECT_EQ(box.at[0], 200'000 + 500);
  EXPECT_EQ(box.at[1], 200'000 + 500);
  EXPECT_EQ(other_box.at[0], 100'000 + 250);
}

TEST(Network, RefusesTimesThatItCannotAddUp) {
  // 4e18 ps, 46 days: a transfer and its latency still fit behind it.
  const Wires wires = line();
  Engine engine;
  Network network(engine, wires);
  Mailbox box(network);
  box.send_at(Time(Duration(4'000'000'000'000'000'000)), 0, 0, 1);
  engine.run();
  EXPECT_EQ(message_of<RangeError>([&] {
              box.send_at(Time(Duration(4'000'000'000'000'000'001)), 0, 0, 1);
              engine.run();
            }),
            "the messages take longer than can be simulated");
}

TEST(TransferTime, RoundsToTheNearestPicosecond) {
  EXPECT_EQ(transfer_time(1, 3e12).count(), 0);  // 0.33 ps
  EXPECT_EQ(transfer_time(2, 3e12).count(), 1);  // 0.67 ps
  EXPECT_EQ(transfer_time(3, 2e12).count(), 2);  // 1.5 ps
  EXPECT_THROW(transfer_time(1e18, 1), InputError);
}

}  // namespace
}  // namespace steptime
