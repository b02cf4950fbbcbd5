#include "sim/servers/piece_wire.h"

#include <chrono>
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

/// Each sent takes 10 ms.
class TenMs final : public PieceLine {
 public:
  explicit TenMs(World& world) : world_(world) {}
  void carry(const SentPiece& sent, PieceLineUser& user) override {
    world_.engine.after(milliseconds(10), Phase::kNormal,
                        [this, sent, user = &user] { user->came(sent, world_.present()); });
  }
  Duration latency(std::int32_t, std::int32_t) override { return milliseconds(1); }

 private:
  World& world_;
};

/// 2 ms before the line, 3 ms behind it.
class TwoAndThree final : public ChannelEnds {
 public:
  explicit TwoAndThree(Engine& engine) : engine_(engine) {}
  When send(const Parcel&) override { return When(engine_.now() + milliseconds(2)); }
  When receive(const Parcel&) override { return When(engine_.now() + milliseconds(3)); }

 private:
  Engine& engine_;
};

class Log final : public Exchanges {
 public:
  void pushed(Exchanged&, std::uint32_t piece, When in) override {
    lines.push_back(fmt::format("pushed {} at {}", piece, ms(in.time)));
  }
  void pulled(Exchanged&, std::int32_t, std::int32_t pieces, When in) override {
    lines.push_back(fmt::format("pulled {} at {}", pieces, ms(in.time)));
  }
  std::vector<std::string> lines;
};

const Pieces kPieces{
    {{.server = 0, .bytes = {1}}, {.server = 1, .bytes = {1}}, {.server = 2, .bytes = {1}}}};
using Lines = std::vector<std::string>;

TEST(PieceWire, EveryClientBeginsWithAnotherServer) {
  World world;
  Log log;
  PieceWire wire(world, std::make_unique<TenMs>(world), {}, kPieces);
  Exchanged of{.owner = &log, .client = 4};
  wire.push(of);
  world.run();
  // Client 4 of 3 servers: 4 mod 3.
  EXPECT_EQ(log.lines, (Lines{"pushed 1 at 10", "pushed 2 at 10", "pushed 0 at 10"}));
  EXPECT_EQ(wire.latency(0, 0), milliseconds(1));
}

TEST(PieceWire, ClientsOfPsLiteBeginWithTheFirstServer) {
  World world;
  Log log;
  PieceWire wire(world, std::make_unique<TenMs>(world), {}, kPieces, PieceWire::Begins::kInOrder);
  Exchanged of{.owner = &log, .client = 4};
  wire.push(of);
  world.run();
  EXPECT_EQ(log.lines, (Lines{"pushed 0 at 10", "pushed 1 at 10", "pushed 2 at 10"}));
}

/// Of two ends, what is sent goes through the first one first, and what comes through it last: 2 ms
/// each before the line, 3 ms each behind it.
TEST(PieceWire, EndsLieOneInsideTheOther) {
  World world;
  Log log;
  PieceWire::Ends ends;
  for (int i = 0; i < 2; ++i)
    ends.push_back(std::make_unique<TwoAndThree>(world.engine));
  PieceWire wire(world, std::make_unique<TenMs>(world), std::move(ends), kPieces);
  Exchanged of{.owner = &log};
  wire.push(of);
  world.run();
  EXPECT_EQ(log.lines, (Lines{"pushed 0 at 20", "pushed 1 at 20", "pushed 2 at 20"}));
}

TEST(PieceWire, AddsBothEndsOfAChannel) {
  World world;
  Log log;
  PieceWire::Ends ends;
  ends.push_back(std::make_unique<TwoAndThree>(world.engine));
  PieceWire wire(world, std::make_unique<TenMs>(world), std::move(ends), kPieces);
  Exchanged of{.owner = &log};
  wire.push(of);
  const std::vector<When> leave{When(Time(milliseconds(5)))};
  wire.answer(of, 1, leave);
  world.run();
  EXPECT_EQ(log.lines, (Lines{"pushed 0 at 15", "pushed 1 at 15", "pushed 2 at 15",
                              "pulled 1 at 20"}));  // 5 + 2 + 10 + 3
}

TEST(PortLine, TakesPortsOnePartAfterAnother) {
  // 1 ms and 1 GB/s between nodes: parts of 2 MB from one client to two servers have its port in
  // turn.
  World world;
  Log log;
  const Cluster cluster{.nodes = 1, .network = {milliseconds(1), {1e9}}};
  NodePorts ports(world.engine, cluster, 3, 1);
  PortEnds ends;
  ends.clients = {{0, 0}};
  ends.servers = {{1, PortEnd::kHost}, {2, PortEnd::kHost}};
  const Pieces pieces{{{.server = 0, .bytes = {2'000'000}}, {.server = 1, .bytes = {2'000'000}}}};
  PieceWire wire(world, std::make_unique<PortLine>(world, ports, ends, pieces), {}, pieces);
  Exchanged of{.owner = &log};
  wire.push(of);
  world.run();
  EXPECT_EQ(log.lines, (Lines{"pushed 0 at 3", "pushed 1 at 5"}));
}

TEST(MessageLine, MessagesShareTheLinksOfAMachine) {
  // Two workers of one node each push 2 MB to one server over its port of 1 GB/s: 4 ms + 1 ms.
  World world;
  Log log;
  const Cluster cluster{.nodes = 2, .network = {milliseconds(1), {1e9}}};
  const Machine machine(cluster, {.nodes = 1});
  Network network(world.engine, machine);
  const Pieces pieces{{{.server = 0, .bytes = {2'000'000}}}};
  MessageLinks links(network, machine, Duration{});
  PieceWire wire(
      world, std::make_unique<MessageLine>(world, links, MessageLine::Ends{{0, 1}, {2}}, pieces),
      {}, pieces);
  Exchanged first{.owner = &log, .client = 0};
  Exchanged second{.owner = &log, .client = 1};
  wire.push(first);
  wire.push(second);
  world.run();
  EXPECT_EQ(log.lines, (Lines{"pushed 0 at 5", "pushed 0 at 5"}));
}

}  // namespace
}  // namespace steptime
