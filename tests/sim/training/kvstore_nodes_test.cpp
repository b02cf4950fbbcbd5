#include "sim/training/kvstore_nodes.h"

#include "tests/support/one_ms_roads.h"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
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
