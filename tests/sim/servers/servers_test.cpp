#include "sim/servers/servers.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Time at_ms(std::int64_t ms) {
  return Time(milliseconds(ms));
}

/// Delivers 1 ms after sending, without limit.
class Instant final : public Wire {
 public:
  Instant(World& world, const Pieces& pieces) : world_(world), pieces_(pieces) {}
  void push(Exchanged& of) override {
    const auto& pieces = pieces_[static_cast<std::size_t>(of.bucket)];
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
      world_.engine.after(milliseconds(1), Phase::kNormal,
                          [this, of = &of, i] { of->owner->pushed(*of, i, world_.present()); });
    }
  }
  void answer(Exchanged& of, std::uint32_t first, std::span<const When> leave) override {
    (void)first;
    for (const When each : leave) {
      left.emplace_back(of.client, each.time);
      world_.engine.at(each.time + milliseconds(1), Phase::kNormal,
                       [this, of = &of] { of->owner->pulled(*of, 1, world_.present()); });
    }
  }
  Duration latency(std::int32_t, std::int32_t) override { return milliseconds(1); }

  std::vector<std::pair<std::int32_t, Time>> left;  ///< answers with values

 private:
  World& world_;
  const Pieces& pieces_;
};

class Heard final : public Client {
 public:
  void came(std::int32_t bucket, When end) override { ends.emplace_back(bucket, end.time); }
  void push_is_in(std::int32_t bucket, When in) override { pushes.emplace_back(bucket, in.time); }
  std::vector<std::pair<std::int32_t, Time>> ends;
  std::vector<std::pair<std::int32_t, Time>> pushes;
};

using Make = decltype(&synchronous_servers);

/// Two servers hold a half each of bucket 0, and nobody anything of bucket 1; three clients.
struct Scene {
  explicit Scene(Make make, const ServerCosts& costs = {}) : clients(3) {
    servers = make(world, wire, pieces, {.clients = 3, .servers = 2, .costs = costs});
  }
  template <class Request>
  void at(Time time, std::int32_t client, Request request, std::int32_t bucket = 0) {
    world.engine.at(time, Phase::kNormal, [this, client, request, bucket] {
      ((*servers).*request)(client, bucket, clients[static_cast<std::size_t>(client)]);
    });
  }
  Time end(std::size_t client) const { return clients[client].ends.at(0).second; }

  World world;
  Pieces pieces{{{.server = 0, .bytes = {4}}, {.server = 1, .bytes = {4}}}, {}};
  Instant wire{world, pieces};
  std::vector<Heard> clients;
  std::unique_ptr<Servers> servers;
};

TEST(Servers, SynchronousOnesAnswerWhenAllHavePushed) {
  Scene run(synchronous_servers);
  for (const std::int32_t c : {0, 1, 2})
    run.at(at_ms(10 * c), c, &Servers::pushpull);
  run.world.run();
  for (const std::size_t c : {0U, 1U, 2U}) {
    EXPECT_EQ(run.end(c), at_ms(20 + 2)) << c;
    EXPECT_EQ(run.clients[c].pushes.at(0).second, at_ms(10 * static_cast<std::int64_t>(c) + 1));
  }
  EXPECT_EQ(run.servers->messages(), 3 * 2 * 2);
  EXPECT_EQ(run.servers->staleness(), (std::vector<std::int64_t>{6}));
}

TEST(Servers, AsynchronousOnesAnswerAtOnceAndCountStaleness) {
  Scene run(asynchronous_servers);
  for (const std::int32_t c : {0, 1, 2})
    run.at(at_ms(10 * c), c, &Servers::pushpull);
  run.world.run();
  for (const std::size_t c : {0U, 1U, 2U})
    EXPECT_EQ(run.end(c), at_ms(10 * static_cast<std::int64_t>(c) + 2));
  // Nobody had pulled before: client c meets c updates, on both servers.
  EXPECT_EQ(run.servers->staleness(), (std::vector<std::int64_t>{2, 2, 2}));
}

TEST(Servers, APullIsAskedForWhenAllPushesWereAnswered) {
  Scene run(asynchronous_servers);
  run.at(Time{}, 0, &Servers::push_then_pull);
  run.world.run();
  EXPECT_EQ(run.end(0), at_ms(4));  // push 1 ms, answer 1 ms, request 1 ms, values 1 ms
}

TEST(Servers, APushMayBeAll) {
  Scene run(asynchronous_servers);
  run.at(Time{}, 0, &Servers::push);
  run.at(at_ms(10), 0, &Servers::pull);
  run.world.run();
  ASSERT_EQ(run.clients[0].ends.size(), 2u);
  EXPECT_EQ(run.clients[0].ends[0].second, at_ms(2));       // push and answer
  EXPECT_EQ(run.clients[0].ends[1].second, at_ms(10 + 2));  // request and values
}

TEST(Servers, ARequestFollowsThePushesBeforeItOnItsConnection) {
  // Both servers answer a push at 1 ms; at 2 ms the client asks for what is summed up when the last
  // client's push is in, at 8 ms: values at 9.
  Scene run(synchronous_servers);
  for (const std::int32_t c : {0, 1})
    run.at(Time{}, c, &Servers::push_and_ask);
  run.at(at_ms(7), 2, &Servers::push_and_ask);
  run.world.run();
  EXPECT_EQ(run.end(0), at_ms(9));
  EXPECT_EQ(run.end(1), at_ms(9));
  EXPECT_EQ(run.end(2), at_ms(7 + 4));  // its own request comes later than the sum
}

TEST(Servers, WhatNobodyHoldsIsThereAtOnce) {
  Scene run(synchronous_servers);
  run.at(at_ms(3), 0, &Servers::pushpull, 1);
  run.world.run();
  EXPECT_EQ(run.end(0), at_ms(3));
  EXPECT_EQ(run.clients[0].pushes.at(0).second, at_ms(3));
}

/// What a wire tells ahead of time must not overtake at the server's thread.
TEST(Servers, ThreadsTakeRequestsWhenTheyAreIn) {
  // 4 s for a part in or out.
  Scene run(asynchronous_servers, {.rate = Bandwidth{1}});
  /// Tells of the pushes of client 0 when they leave: they are in at 100 s.
  class Ahead final : public Wire {
   public:
    explicit Ahead(Wire& wire) : wire_(wire) {}
    void push(Exchanged& of) override {
      if (of.client != 0) return wire_.push(of);
      for (const std::uint32_t piece : {0U, 1U})
        of.owner->pushed(of, piece, When(Time(seconds(100))));
    }
    void answer(Exchanged& of, std::uint32_t first, std::span<const When> leave) override {
      wire_.answer(of, first, leave);
    }
    Duration latency(std::int32_t c, std::int32_t s) override { return wire_.latency(c, s); }

   private:
    Wire& wire_;
  } ahead(run.wire);
  run.servers = asynchronous_servers(run.world, ahead, run.pieces,
                                     {.clients = 3, .servers = 2, .costs = {.rate = Bandwidth{1}}});
  run.at(Time{}, 0, &Servers::pushpull);
  run.at(Time(seconds(1)), 1, &Servers::pushpull);
  run.world.run();
  EXPECT_EQ(run.end(1), Time(seconds(1 + 4 + 4) + milliseconds(2)));
  EXPECT_EQ(run.end(0), Time(seconds(100 + 4 + 4) + milliseconds(1)));
  EXPECT_EQ(run.servers->most_busy(), seconds(16));
}

/// A server that waits for all answers at the latest push, not at the one that it is told of last.
TEST(Servers, ASumIsThereWhenTheLatestPushIsIn) {
  World world;
  const Pieces pieces{{{.server = 0, .bytes = {4}}}};
  class Told final : public Wire {
   public:
    void push(Exchanged& of) override {
      of.owner->pushed(of, 0, When(of.client == 0 ? at_ms(24) : at_ms(1)));
    }
    void answer(Exchanged& of, std::uint32_t, std::span<const When> leave) override {
      of.owner->pulled(of, 1, leave.front());
    }
    Duration latency(std::int32_t, std::int32_t) override { return {}; }
  } wire;
  const auto servers = synchronous_servers(world, wire, pieces, {.clients = 2, .servers = 1});
  std::vector<Heard> clients(2);
  servers->pushpull(0, 0, clients[0]);
  servers->pushpull(1, 0, clients[1]);
  world.run();
  EXPECT_EQ(clients[0].ends.at(0).second, at_ms(24));
  EXPECT_EQ(clients[1].ends.at(0).second, at_ms(24));
}

}  // namespace
}  // namespace steptime
