#include "sim/servers/connected_routes.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// Two workers and two server nodes, 1 ms and 1 GB/s.
Machine machine() {
  const Link link{milliseconds(1), {1e9}};
  return Machine({.nodes = 2, .gpus_per_node = 1, .network = link, .intra_node = link},
                 {.nodes = 2});
}

class Log final : public MessageSink {
 public:
  explicit Log(Network& network) : network_(network) {}
  void send(Endpoint from, Endpoint to, std::int64_t bytes) {
    network_.send({.sink = this, .from = from, .to = to, .bytes = bytes});
  }
  void delivered(const Message& message) override {
    times.push_back(network_.now());
    sizes.push_back(message.bytes);
  }
  std::vector<Time> times;
  std::vector<std::int64_t> sizes;

 private:
  Network& network_;
};

TEST(ConnectedRoutes, AConnectionSendsInOrder) {
  const Machine m = machine();
  const ConnectedRoutes routes(m, {.count = 2}, 2);
  Engine engine;
  Network network(engine, routes);
  Log log(network);
  log.send(0, 2, 4'000'000);
  log.send(0, 2, 2'000'000);
  engine.run();
  // 1 + 4 ms, and 2 ms behind it; shared, the small one would be there after 1 + 4 ms.
  EXPECT_EQ(log.sizes, (std::vector<std::int64_t>{4'000'000, 2'000'000}));
  EXPECT_EQ(log.times, (std::vector<Time>{Time(milliseconds(5)), Time(milliseconds(7))}));
}

TEST(ConnectedRoutes, ConnectionsShareTheirLinks) {
  const Machine m = machine();
  const ConnectedRoutes routes(m, {.count = 2}, 2);
  Engine engine;
  Network network(engine, routes);
  Log log(network);
  log.send(0, 2, 4'000'000);
  log.send(0, 3, 2'000'000);  // another server
  log.send(3, 0, 4'000'000);  // the other way
  log.send(3, 1, 1'000'000);  // another client
  engine.run();
  // Out of 0: 2 MB each until 4 ms, then alone to 6 ms. Out of 3: 1 MB each until 2 ms, to 5 ms.
  EXPECT_EQ(log.times, (std::vector<Time>{Time(milliseconds(3)), Time(milliseconds(5)),
                                          Time(milliseconds(6)), Time(milliseconds(7))}));
}

TEST(ConnectedRoutes, OnlyTheFirstWorkerOfAClientIsConnected) {
  const Machine m = machine();
  const ConnectedRoutes routes(m, {.count = 1, .stride = 2}, 2);
  const std::size_t machine_channels = m.channels().size();
  EXPECT_EQ(routes.channels().size(), machine_channels + 2 * 2);
  const auto hops = [&](Endpoint from, Endpoint to) {
    std::vector<ChannelId> path;
    routes.route(from, to, path);
    std::vector<ChannelId> plain;
    m.route(from, to, plain);
    return path.size() - plain.size();
  };
  EXPECT_EQ(hops(0, 2), 1u);
  EXPECT_EQ(hops(3, 0), 1u);
  EXPECT_EQ(hops(1, 2), 0u);
  EXPECT_EQ(hops(0, 1), 0u);
}

TEST(ConnectedRoutes, WithoutClientsTheyAreTheMachines) {
  const Machine m = machine();
  const ConnectedRoutes routes(m, {}, 2);
  EXPECT_EQ(routes.channels().size(), m.channels().size());
  std::vector<ChannelId> path;
  routes.route(0, 2, path);
  std::vector<ChannelId> plain;
  m.route(0, 2, plain);
  EXPECT_EQ(path, plain);
}

TEST(ConnectedRoutes, ServersMayBeClients) {
  // The two server nodes, of each other and of themselves.
  const Machine m = machine();
  const ConnectedRoutes routes(m, {.first = 2, .count = 2}, 2);
  Engine engine;
  Network network(engine, routes);
  Log log(network);
  log.send(2, 3, 4'000'000);
  log.send(2, 3, 2'000'000);
  log.send(2, 2, 1'000'000);
  log.send(0, 3, 0);
  engine.run();
  // To itself at once; the others in order.
  EXPECT_EQ(log.sizes, (std::vector<std::int64_t>{1'000'000, 0, 4'000'000, 2'000'000}));
}

}  // namespace
}  // namespace steptime
