#include "sim/training/kvstore_nodes.h"

#include "tests/support/training.h"

#include <chrono>
#include <deque>
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

/// Delivers every piece 1 ms after it is sent, without limit.
class OneMs final : public PieceLine {
 public:
  OneMs(World& world, std::vector<std::string>& log, std::string name)
      : world_(world), log_(log), name_(std::move(name)) {}
  void carry(const SentPiece& sent, PieceLineUser& user) override {
    log_.push_back(
        fmt::format("{}: client {} {}", name_, sent.of->client, sent.is_push ? "pushes" : "gets"));
    world_.engine.after(milliseconds(1), Phase::kNormal,
                        [this, sent, user = &user] { user->came(sent, world_.present()); });
  }
  Duration latency(std::int32_t, std::int32_t) override { return milliseconds(1); }

 private:
  World& world_;
  std::vector<std::string>& log_;
  std::string name_;
};

class OneMsRoads final : public Roads {
 public:
  using Roads::Roads;
  std::unique_ptr<Medium> medium(std::int32_t, const Collective&) override { return nullptr; }
  std::int64_t count(const std::string& line) const {
    return std::count(log.begin(), log.end(), line);
  }
  std::vector<std::string> log;

 private:
  std::unique_ptr<PieceLine> line(PortEnds ends, const Pieces&, bool in_node) override {
    return std::make_unique<OneMs>(
        world_, log, in_node ? fmt::format("node {}", ends.clients.front().node) : "beyond");
  }
  std::unique_ptr<Wire> bare_wire(PortEnds) override { return nullptr; }
};

/// One bucket, of 4 MB, on the second place of each of 2 nodes with 2 workers, and half each on 2
/// servers beyond.
TrainingPlan two_nodes(const Placement& placement, const std::string& update = kSgd) {
  TrainingPlan plan = plan_training(training_experiment(strategy(servers(1), update), 4));
  plan.cluster = {.nodes = 2, .gpus_per_node = 2};
  plan.aggregation = {
      .clients = 4,
      .servers = {.count = 2, .placement = &placement, .requests = &requests_named("pushpull")}};
  plan.aggregation.beyond = {{.count = 2}, std::nullopt};
  plan.step.buckets.resize(1);
  plan.names = {"key"};
  plan.pieces = {{{.server = 1, .bytes = {4'000'000}}}};
  plan.pieces_beyond = {{{.server = 0, .bytes = {2'000'000}}, {.server = 1, .bytes = {2'000'000}}}};
  return plan;
}

struct Scene {
  explicit Scene(TrainingPlan made, Timeline* timeline = nullptr)
      : plan(std::move(made)),
        record(plan, world.engine, 4, false, {}),
        run{world, plan, 1, record, nullptr, Drawing(plan, timeline)},
        roads(world, plan),
        nodes(run, roads, nullptr) {
    for (std::int32_t w = 0; w < 4; ++w) {
      workers.emplace_back(run, w, 0, w, 1);
      ends.emplace_back(*this, w);
    }
  }
  void push_at(std::int64_t at_ms, std::int32_t worker) {
    world.engine.at(Time(milliseconds(at_ms)), Phase::kNormal, [this, worker] {
      const auto w = static_cast<std::size_t>(worker);
      nodes.exchange(workers[w], 0, ends[w]);
    });
  }
  void expect_ends(std::int64_t of_node_0, std::int64_t of_node_1) {
    world.run();
    EXPECT_EQ(came, (std::vector<std::int64_t>{of_node_0, of_node_0, of_node_1, of_node_1}));
  }

  struct End final : public Client {
    End(Scene& in, std::int32_t number) : scene(in), worker(number) {}
    void came(std::int32_t, When end) override {
      scene.came[static_cast<std::size_t>(worker)] = ms(end.time);
    }
    Scene& scene;
    std::int32_t worker;
  };
  World world;
  TrainingPlan plan;
  Record record;
  TrainingRun run;
  OneMsRoads roads;
  KvStoreNodes nodes;
  std::deque<Worker> workers;
  std::deque<End> ends;
  std::vector<std::int64_t> came = std::vector<std::int64_t>(4);
};

TEST(KvStoreNodes, ASumGoesToTheHostToTheServersAndBack) {
  // Push 1, copy 1, push 1, its answer 1, request 1, values 1, copy back 1, values 1.
  Scene scene(two_nodes(on_gpus()));
  for (const std::int32_t worker : {0, 1, 2, 3})
    scene.push_at(0, worker);
  scene.expect_ends(8, 8);
  // 4 pushes and 4 answers in the nodes, 2 copies there and 2 back, 4 halves pushed and 4 pulled.
  EXPECT_EQ(scene.nodes.messages(), 8 + 4 + 8);
  EXPECT_EQ(scene.roads.log.size(), 20u);
  // The host is the client behind a node's two workers.
  EXPECT_EQ(scene.roads.count("node 1: client 1 pushes"), 1);
  EXPECT_EQ(scene.roads.count("node 1: client 2 gets"), 1);
  EXPECT_EQ(scene.roads.count("node 1: client 2 pushes"), 1);
  EXPECT_EQ(scene.roads.count("beyond: client 1 pushes"), 2);
}

TEST(KvStoreNodes, ASumOnTheHostIsNotCopied) {
  Scene scene(two_nodes(with_workers()));
  for (const std::int32_t worker : {0, 1, 2, 3})
    scene.push_at(0, worker);
  scene.expect_ends(6, 6);
  EXPECT_EQ(scene.roads.count("node 0: client 2 gets"), 0);
}

TEST(KvStoreNodes, SynchronousNodesWaitForEachOtherAsynchronousOnesDoNot) {
  for (const auto& [update, first] : {std::pair(kSgd, 18), {kAsgd, 8}}) {
    Scene scene(two_nodes(on_gpus(), update));
    for (const std::int32_t worker : {0, 1, 2, 3})
      scene.push_at(worker == 3 ? 10 : 0, worker);
    scene.expect_ends(first, 18);
    std::int64_t updates = 0;
    for (const std::int64_t count : scene.nodes.servers().staleness())
      updates += count;
    EXPECT_EQ(updates, 4);  // of 2 nodes on 2 servers
  }
}

TEST(KvStoreNodes, TheHostsThreadSendsAndReceivesInTurn) {
  // 2 MB a ms. The sum is on the host at 2: its halves leave at 3 and 4 and are answered at 5
  // and 6. Then both are asked for, 1, and sent, 1: at 8, received at 9 and 10. Copy 1, values 1.
  TrainingPlan plan = two_nodes(on_gpus());
  plan.aggregation.beyond->client_rate = Bandwidth{2e9};
  Scene scene(std::move(plan));
  for (const std::int32_t worker : {0, 1, 2, 3})
    scene.push_at(0, worker);
  scene.expect_ends(10 + 2, 10 + 2);
}

TEST(KvStoreNodes, NothingIsSentBeforeItsPushNorComesBackBeforeItsPull) {
  // Issued at 4 and 20. Push 5, copy 6, push 7, answered 8; asked for at 20: request 21, values 22,
  // copy 23, values 24.
  TrainingPlan plan = two_nodes(on_gpus());
  plan.issued = {{milliseconds(4), milliseconds(20)}};
  Scene scene(std::move(plan));
  for (const std::int32_t worker : {0, 1, 2, 3})
    scene.push_at(worker, worker);
  scene.expect_ends(20 + 4, 20 + 4);
}

TEST(KvStoreNodes, ATimelineShowsTheHosts) {
  Timeline timeline;
  Scene scene(two_nodes(on_gpus()), &timeline);
  for (const std::int32_t worker : {0, 1, 2, 3})
    scene.push_at(0, worker);
  scene.world.run();
  // Of each worker: push and pull. Of each host: copy, push, push 2, pull, pull 2, copy back.
  EXPECT_EQ(timeline.tracks().size(), 8u + 12u);
}

}  // namespace
}  // namespace steptime
