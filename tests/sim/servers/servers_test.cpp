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

/// Delivers 1 ms after sending, or what is set for bytes, without limit.
class Instant final : public Wire {
 public:
  Instant(World& world, const Pieces& pieces) : world_(world), pieces_(pieces) {}
  void push(Exchanged& of) override {
    const auto& pieces = pieces_[static_cast<std::size_t>(of.bucket)];
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
      world_.engine.after(push_takes, Phase::kNormal,
                          [this, of = &of, i] { of->owner->pushed(*of, i, world_.present()); });
    }
  }
  void answer(Exchanged& of, std::uint32_t first, std::span<const When> leave) override {
    const auto& pieces = pieces_[static_cast<std::size_t>(of.bucket)];
    for (const When each : leave) {
      left.emplace_back(of.client, each.time);
      world_.engine.at(each.time + pull_takes, Phase::kNormal,
                       [this, of = &of, server = pieces[first++].server] {
                         of->owner->pulled(*of, server, 1, world_.present());
                       });
    }
  }
  Duration latency(std::int32_t, std::int32_t) override { return milliseconds(1); }

  Duration push_takes = milliseconds(1);
  Duration pull_takes = milliseconds(1);
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
      of.owner->pulled(of, 0, 1, leave.front());
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

/// One asynchronous server, which holds two buckets.
struct OneServer {
  explicit OneServer(const Servers::Terms& terms) : clients(4) {
    servers = asynchronous_servers(world, wire, pieces, terms);
  }
  template <class Action>
  void at(Duration after, Action action) {
    world.engine.at(Time(after), Phase::kNormal, action);
  }
  Heard& client(std::size_t number) { return clients[number]; }
  /// When a client heard of the end of its exchange of a bucket.
  Duration end(std::size_t number, std::int32_t bucket) const {
    for (const auto& [of, end] : clients[number].ends) {
      if (of == bucket) return since_start(end);
    }
    return Duration::max();
  }

  World world;
  const Pieces pieces{{{.server = 0, .bytes = {4}}}, {{.server = 0, .bytes = {4}}}};
  Instant wire{world, pieces};
  std::vector<Heard> clients;
  std::unique_ptr<Servers> servers;
};

TEST(Servers, ARequestQueuesBehindAPushOnAnOrderedConnection) {
  // Bucket 0 is pushed at 0 and answered at 2. The push of bucket 1 leaves at 1 and takes 30 ms:
  // the request for 0 is there behind it, at 31, and the values at 32. Bucket 1 is answered at 32,
  // asked for at 33 and there at 34.
  for (const bool ordered : {true, false}) {
    OneServer run({.clients = 4, .servers = 1, .ordered = ordered});
    run.at(Duration{}, [&] { run.servers->push_then_pull(0, 0, run.client(0)); });
    run.at(milliseconds(1), [&] {
      run.wire.push_takes = milliseconds(30);
      run.servers->push_then_pull(0, 1, run.client(0));
    });
    run.world.run();
    EXPECT_EQ(run.end(0, 0), milliseconds(ordered ? 32 : 4));
    EXPECT_EQ(run.end(0, 1), milliseconds(34));
  }
}

TEST(Servers, ARequestIsNoFasterThanItsOwnWay) {
  // It leaves at 2 behind a push that is in at 2.5; its own way ends at 3.
  OneServer run({.clients = 4, .servers = 1, .ordered = true});
  run.wire.push_takes = std::chrono::microseconds(2500);
  run.at(Duration{}, [&] { run.servers->push(0, 1, run.client(0)); });
  run.at(milliseconds(2), [&] { run.servers->pull(0, 0, run.client(0)); });
  run.world.run();
  EXPECT_EQ(run.end(0, 0), milliseconds(4));
}

TEST(Servers, AnAnswerQueuesBehindValuesOnAnOrderedConnection) {
  // Values of bucket 0 leave at 1 for client 0 and take 50 ms. The push of bucket 1 is in at 11:
  // its answer is behind them for client 0, and on a connection of its own for client 1.
  OneServer run({.clients = 4, .servers = 1, .ordered = true});
  run.wire.pull_takes = milliseconds(50);
  run.at(Duration{}, [&] { run.servers->pull(0, 0, run.client(0)); });
  run.at(milliseconds(10), [&] {
    run.servers->push(0, 1, run.client(0));
    run.servers->push(1, 1, run.client(1));
  });
  run.world.run();
  EXPECT_EQ(run.end(0, 0), milliseconds(51));
  EXPECT_EQ(run.end(0, 1), milliseconds(51));
  EXPECT_EQ(run.end(1, 1), milliseconds(12));
}

TEST(Servers, OfRequestsThatWaitAHeapGivesALaterOneFirst) {
  // The thread takes 10 ms for each request. Client 0's push is there at 1 and keeps it until 11;
  // the pushes of 1 and 2 and then a request of 3 to pull wait meanwhile. In their order they are
  // done at 21, 31 and 41; of a heap the last goes first. An answer or the values take 1 ms.
  for (const bool from_heap : {false, true}) {
    OneServer run({.clients = 4,
                   .servers = 1,
                   .costs = {.request = milliseconds(10)},
                   .takes_from_heap = from_heap});
    for (const std::int32_t client : {0, 1, 2}) {
      run.at(milliseconds(client), [&run, client] {
        run.servers->push(client, 0, run.client(static_cast<std::size_t>(client)));
      });
    }
    run.at(milliseconds(3), [&] { run.servers->pull(3, 0, run.client(3)); });
    run.world.run();
    EXPECT_EQ(run.end(0, 0), milliseconds(12));
    EXPECT_EQ(run.end(1, 0), milliseconds(from_heap ? 42 : 22));
    EXPECT_EQ(run.end(2, 0), milliseconds(32));
    EXPECT_EQ(run.end(3, 0), milliseconds(from_heap ? 22 : 42));
    EXPECT_EQ(run.servers->most_busy(), milliseconds(40));
  }
}

}  // namespace
}  // namespace steptime
