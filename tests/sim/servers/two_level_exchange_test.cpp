#include "sim/servers/two_level_exchange.h"

#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// Delivers everything 1 ms after sending, without limit.
class Instant final : public Carrier {
 public:
  explicit Instant(Engine& clock) : engine(clock) {}
  void push(std::span<const Parcel> parts) override {
    for (const Parcel& part : parts)
      send(part, engine.present());
  }
  void answer(std::span<const Timed> parts) override {
    for (const auto& [part, at] : parts)
      send(part, at);
  }
  void send(const Parcel& parcel, When at) {
    parcels.push_back(parcel);
    engine.at(at.time + milliseconds(1), Phase::kNormal, [this, parcel] {
      const Timed now{parcel, engine.present()};
      if (parcel.is_push) return exchange->pushed({&now, 1});
      exchange->pulled(parcel.client, parcel.bucket, 1, now.at);
    });
  }
  Duration latency(std::int32_t, std::int32_t) override { return milliseconds(1); }
  std::optional<Duration> common_latency() const override { return std::nullopt; }
  void all_reduce(std::int32_t, std::uint32_t, Bytes, When, Duration) override {}
  void broadcast(std::int32_t, std::size_t, When) override {}
  void run() { engine.run(); }

  Engine& engine;
  TwoLevelExchange* exchange = nullptr;
  std::vector<Parcel> parcels;
};

/// One bucket, of 4 MB, on the second place of each of 2 nodes with 2 workers, and half each on 2
/// servers beyond.
TrainingPlan two_nodes(ServerGroup::Placement placement) {
  TrainingPlan plan;
  plan.cluster = {.nodes = 2, .gpus_per_node = 2};
  plan.aggregation = {.clients = 4, .servers = {.count = 2, .placement = placement, .fused = true}};
  plan.aggregation.beyond = {{.count = 2}, std::nullopt};
  plan.names = {"key"};
  plan.pieces = {{{.server = 1, .bytes = {4'000'000}}}};
  plan.pieces_beyond = {{{.server = 0, .bytes = {2'000'000}}, {.server = 1, .bytes = {2'000'000}}}};
  return plan;
}

struct Meeting final : public ExchangeUser {
  explicit Meeting(TrainingPlan made) : plan(std::move(made)), carrier(engine) {
    exchange = std::make_unique<TwoLevelExchange>(plan, engine, carrier, *this, nullptr, nullptr);
    carrier.exchange = exchange.get();
  }
  void answered(std::int32_t, std::size_t) override {}
  void exchanged(std::int32_t client, std::size_t, When end) override {
    ends.emplace_back(client, end.time);
  }
  void push_at(Time time, std::int32_t client) {
    engine.at(time, Phase::kNormal, [this, client] { exchange->push(client, 0, Time{}); });
  }
  void expect_ends(const std::vector<int>& of_nodes) const {
    ASSERT_EQ(ends.size(), 4u);
    for (const auto& [client, end] : ends)
      EXPECT_EQ(end, Time(milliseconds(of_nodes[static_cast<std::size_t>(client / 2)]))) << client;
  }

  Engine engine;
  TrainingPlan plan;
  Instant carrier;
  std::unique_ptr<TwoLevelExchange> exchange;
  std::vector<std::pair<std::int32_t, Time>> ends;
};

TEST(TwoLevelExchange, ASumGoesToTheHostToTheServersAndBack) {
  // Push 1, copy 1, push 1, its answer 1, request 1, values 1, copy back 1, values 1.
  Meeting run(two_nodes(ServerGroup::Placement::kOnGpus));
  for (const std::int32_t c : {0, 1, 2, 3})
    run.push_at(Time{}, c);
  run.engine.run();
  run.expect_ends({8, 8});
  // 4 pushes and 4 answers in the nodes, 2 copies there and 2 back, 4 halves pushed and 4 pulled.
  EXPECT_EQ(run.exchange->messages(), 8 + 4 + 8);
  EXPECT_EQ(run.carrier.parcels.size(), 20u);
  // Workers of node 1 push to place 1 of node 1, the fourth of all; its host is client 4 + 1 beyond
  // and 4 + 2 + 1 of that place.
  int copies = 0;
  int beyond = 0;
  for (const Parcel& parcel : run.carrier.parcels) {
    if (parcel.client == 3) {
      EXPECT_EQ(parcel.server, 3);
    }
    if (parcel.client == 7 && parcel.server == 3) ++copies;
    if (parcel.client == 5 && parcel.server >= 4) ++beyond;
  }
  EXPECT_EQ(copies, 2);
  EXPECT_EQ(beyond, 4);
}

TEST(TwoLevelExchange, ASumOnTheHostIsNotCopied) {
  Meeting run(two_nodes(ServerGroup::Placement::kWithWorkers));
  for (const std::int32_t c : {0, 1, 2, 3})
    run.push_at(Time{}, c);
  run.engine.run();
  run.expect_ends({6, 6});
  // Thread 1 of node 0 is on the host of node (1 * 2 + 0) mod 2 = 0, that of node 1 on host 1.
  for (const Parcel& parcel : run.carrier.parcels) {
    if (parcel.client < 4) {
      EXPECT_EQ(parcel.server % 2, parcel.client / 2);
    }
  }
}

TEST(TwoLevelExchange, SynchronousNodesWaitForEachOtherAsynchronousOnesDoNot) {
  for (const auto& [update, first] : {std::pair(kSgd, 18), {kAsgd, 8}}) {
    TrainingPlan plan = two_nodes(ServerGroup::Placement::kOnGpus);
    plan.update = make<Update>(update);
    Meeting run(std::move(plan));
    for (const std::int32_t c : {0, 1, 2, 3})
      run.push_at(Time(milliseconds(c == 3 ? 10 : 0)), c);
    run.engine.run();
    run.expect_ends({first, 18});
    std::int64_t updates = 0;
    for (const std::int64_t count : run.exchange->staleness())
      updates += count;
    EXPECT_EQ(updates, 4);  // of 2 nodes on 2 servers
  }
}

TEST(TwoLevelExchange, TheHostsThreadSendsAndReceivesInTurn) {
  // 2 MB a ms. The sum is on the host at 2: its halves leave at 3 and 4 and are answered at 5
  // and 6. Then both are asked for, 1, and sent, 1: at 8, received at 9 and 10. Copy 1, values 1.
  TrainingPlan plan = two_nodes(ServerGroup::Placement::kOnGpus);
  plan.aggregation.beyond->client_rate = Bandwidth{2e9};
  Meeting run(std::move(plan));
  for (const std::int32_t c : {0, 1, 2, 3})
    run.push_at(Time{}, c);
  run.engine.run();
  run.expect_ends({10 + 2, 10 + 2});
}

TEST(TwoLevelExchange, NothingIsSentBeforeItsPushNorComesBackBeforeItsPull) {
  // Issued at 4 and 20. Push 5, copy 6, push 7, answered 8; asked for at 20: request 21, values 22,
  // copy 23, values 24.
  TrainingPlan plan = two_nodes(ServerGroup::Placement::kOnGpus);
  plan.issued = {{milliseconds(4), milliseconds(20)}};
  Meeting run(plan);
  for (const std::int32_t c : {0, 1, 2, 3})
    run.push_at(Time(milliseconds(c)), c);
  run.engine.run();
  run.expect_ends({20 + 4, 20 + 4});

  plan.aggregation.beyond.reset();  // one level: 2 servers of all 4 clients
  plan.aggregation.servers.placement = ServerGroup::Placement::kOwnNodes;
  for (const int pull : {0, 20}) {
    plan.issued[0].pull = milliseconds(pull);
    Meeting alone(plan);
    for (const std::int32_t c : {0, 1, 2, 3})
      alone.push_at(Time{}, c);
    alone.engine.run();
    const int back = pull > 5 ? pull + 1 : 6;
    alone.expect_ends({back, back});
  }
}

TEST(TwoLevelExchange, ATimelineShowsTheHosts) {
  Timeline timeline;
  TrainingPlan plan = two_nodes(ServerGroup::Placement::kOnGpus);
  Engine engine;
  Instant carrier(engine);
  struct Deaf final : public ExchangeUser {
    void answered(std::int32_t, std::size_t) override {}
    void exchanged(std::int32_t, std::size_t, When) override {}
  } user;
  TwoLevelExchange exchange(plan, engine, carrier, user, nullptr, &timeline);
  carrier.exchange = &exchange;
  for (const std::int32_t c : {0, 1, 2, 3})
    exchange.push(c, 0, Time{});
  engine.run();
  // Of each host: copy, push, push 2, pull, pull 2, copy back.
  EXPECT_EQ(timeline.tracks().size(), 12u);
}

}  // namespace
}  // namespace steptime
