#include "sim/network/max_min.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Path = std::array<std::uint32_t, 2>;

double rate(const MaxMin& rates, std::uint32_t flow) {
  return rates.level(rates.bottleneck(flow));
}

TEST(MaxMin, OneFlowGetsItsNarrowestChannel) {
  MaxMin rates;
  const std::uint32_t wide = rates.add_channel(10);
  const std::uint32_t narrow = rates.add_channel(4);
  rates.add(0, Path{wide, narrow});
  rates.solve();
  EXPECT_EQ(rate(rates, 0), 4);
  EXPECT_EQ(rates.bottleneck(0), narrow);
  EXPECT_EQ(rates.load(wide), 4);
}

TEST(MaxMin, WhatOneFlowCannotUseGoesToTheOthers) {
  //  a ==== 10 ==== b -- 2 -- c     flows: ab, ab, abc
  // The third is held to 2 by the second channel; the first two share the other 8.
  MaxMin rates;
  const std::uint32_t first = rates.add_channel(10);
  const std::uint32_t second = rates.add_channel(2);
  rates.add(0, std::array{first});
  rates.add(1, std::array{first});
  rates.add(2, Path{first, second});
  rates.solve();
  EXPECT_EQ(rate(rates, 0), 4);
  EXPECT_EQ(rate(rates, 1), 4);
  EXPECT_EQ(rate(rates, 2), 2);
  EXPECT_EQ(rates.load(first), 10);
}

TEST(MaxMin, ACapacityMayChange) {
  // As above with one flow on the first channel and one on both. 10 and 2: 8 and 2. With 6 on the
  // second: half of the first each; with 4 on the first: 2 each; with 1 on the second: 3 and 1.
  MaxMin rates;
  const std::uint32_t first = rates.add_channel(10);
  const std::uint32_t second = rates.add_channel(2);
  rates.add(0, std::array{first});
  rates.add(1, Path{first, second});
  rates.solve();
  const auto expect = [&](double alone, double both) {
    rates.solve();
    EXPECT_EQ(rate(rates, 0), alone);
    EXPECT_EQ(rate(rates, 1), both);
  };
  expect(8, 2);
  rates.set_capacity(second, 6);
  expect(5, 5);
  rates.set_capacity(first, 4);
  expect(2, 2);
  rates.set_capacity(second, 1);
  expect(3, 1);
  rates.set_capacity(first, 1);
  expect(0.5, 0.5);
}

TEST(MaxMin, EqualFlowsGetEqualRates) {
  MaxMin rates;
  const std::uint32_t channel = rates.add_channel(1);
  for (std::uint32_t flow = 0; flow < 7; ++flow)
    rates.add(flow, std::array{channel});
  rates.solve();
  for (std::uint32_t flow = 0; flow < 7; ++flow)
    EXPECT_EQ(rate(rates, flow), 1.0 / 7);
}

TEST(MaxMin, WhoLeavesLeavesItsShareToTheOthers) {
  // As above, and then the third goes: the first two have 5 each. With the first gone, too, the
  // second has all of the channel.
  MaxMin rates;
  const std::uint32_t first = rates.add_channel(10);
  const std::uint32_t second = rates.add_channel(2);
  rates.add(0, std::array{first});
  rates.add(1, std::array{first});
  rates.add(2, Path{first, second});
  rates.solve();
  rates.remove(2);
  rates.solve();
  EXPECT_EQ(rate(rates, 0), 5);
  EXPECT_EQ(rates.load(second), 0);
  rates.remove(0);
  rates.solve();
  EXPECT_EQ(rate(rates, 1), 10);
}

TEST(MaxMin, WhoGetsMoreMayFillAnotherChannel) {
  //  a -- 6 -- b -- 5 -- c     flows: ab, abc, bc
  // abc and bc have half of the second channel each, 2.5, and ab the other 3.5 of the first.
  // Without bc the first channel is the one that fills up, at 3; without ab, too, the second again.
  MaxMin rates;
  const std::uint32_t first = rates.add_channel(6);
  const std::uint32_t second = rates.add_channel(5);
  rates.add(0, std::array{first});
  rates.add(1, Path{first, second});
  rates.add(2, std::array{second});
  rates.solve();
  EXPECT_EQ(rate(rates, 0), 3.5);
  EXPECT_EQ(rate(rates, 1), 2.5);
  EXPECT_EQ(rate(rates, 2), 2.5);
  rates.remove(2);
  rates.solve();
  EXPECT_EQ(rate(rates, 0), 3);
  EXPECT_EQ(rate(rates, 1), 3);
  EXPECT_EQ(rates.bottleneck(1), first);
  rates.remove(0);
  rates.solve();
  EXPECT_EQ(rate(rates, 1), 5);
  EXPECT_EQ(rates.bottleneck(1), second);
}

TEST(MaxMin, TellsWhatChanged) {
  // Two pairs of flows on channels of their own; one flow comes to the first channel only.
  MaxMin rates;
  const std::uint32_t first = rates.add_channel(6);
  const std::uint32_t second = rates.add_channel(6);
  rates.add(0, std::array{first});
  rates.add(1, std::array{first});
  rates.add(2, std::array{second});
  rates.solve();
  rates.add(3, std::array{first});
  rates.solve();
  EXPECT_EQ(std::vector(rates.fixed().begin(), rates.fixed().end()), std::vector{first});
  EXPECT_EQ(std::vector(rates.moved().begin(), rates.moved().end()), std::vector{3U});
  EXPECT_EQ(rates.level(first), 2);
  rates.solve();  // nothing has changed
  EXPECT_TRUE(rates.fixed().empty());
  EXPECT_TRUE(rates.moved().empty());
}

struct Chain {
  MaxMin rates;
  std::uint32_t first;
  std::uint32_t second;
};
/// a -- 6 -- b -- 6 -- c, with flows abc, ab and bc: 0, 1 and 2, with 3 each.
Chain three_on_two_channels() {
  Chain chain;
  MaxMin& rates = chain.rates;
  chain.first = rates.add_channel(6);
  chain.second = rates.add_channel(6);
  rates.add(0, Path{chain.first, chain.second});
  rates.add(1, std::array{chain.first});
  rates.add(2, std::array{chain.second});
  rates.solve();
  return chain;
}

TEST(MaxMin, WhoHasAnotherBottleneckOfTheSameLevelKeepsItsRate) {
  // When the other one of abc's bottleneck goes, abc has the other channel, full as before, as its
  // bottleneck.
  auto [rates, first, second] = three_on_two_channels();
  const bool was_first = rates.bottleneck(0) == first;
  const std::uint32_t other = was_first ? second : first;
  rates.remove(was_first ? 1 : 2);
  rates.solve();
  EXPECT_EQ(rates.bottleneck(0), other);
  EXPECT_EQ(rate(rates, 0), 3);
  EXPECT_EQ(rates.load(was_first ? first : second), 3);
  EXPECT_EQ(std::vector(rates.fixed().begin(), rates.fixed().end()), std::vector{other});
  EXPECT_EQ(std::vector(rates.moved().begin(), rates.moved().end()), std::vector{0U});
  // With the last one gone, too, abc has all of both.
  rates.remove(was_first ? 2 : 1);
  rates.solve();
  EXPECT_EQ(rate(rates, 0), 6);
}

TEST(MaxMin, WhoComesAndWhoGoesAtOnce) {
  // As above, and when ab goes, another bc comes: three share the second channel.
  auto [rates, first, second] = three_on_two_channels();
  rates.remove(1);
  rates.add(3, std::array{second});
  rates.solve();
  for (const std::uint32_t flow : {0U, 2U, 3U})
    EXPECT_EQ(rate(rates, flow), 2);
  EXPECT_EQ(rates.load(first), 2);
}

TEST(MaxMin, ANumberMayNameAnotherFlowLater) {
  MaxMin rates;
  const std::uint32_t first = rates.add_channel(3);
  const std::uint32_t second = rates.add_channel(5);
  rates.add(0, std::array{first});
  rates.solve();
  rates.remove(0);
  rates.add(0, std::array{second});
  rates.solve();
  EXPECT_EQ(rate(rates, 0), 5);
  EXPECT_EQ(rates.load(first), 0);
}

TEST(MaxMin, AChannelWithoutFlowsHasNoLoad) {
  MaxMin rates;
  const std::uint32_t channel = rates.add_channel(1);
  rates.solve();
  EXPECT_EQ(rates.load(channel), 0);
}

}  // namespace
}  // namespace steptime
