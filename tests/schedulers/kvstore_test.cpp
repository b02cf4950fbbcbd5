#include "sim/error.h"
#include "sim/result.h"
#include "sim/simulate.h"
#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// `gpus` GPUs of one node without latency, 1 GB/s each, on one PCIe switch, which has 1 GB/s to
/// the host.
std::shared_ptr<const Cluster> node(std::int64_t gpus, double gamma = 0) {
  auto graph = std::make_shared<Topology>();
  const auto plx = graph->add_vertex("plx", VertexKind::kPcieSwitch);
  const auto memory = graph->add_vertex("memory", VertexKind::kHostMemory);
  graph->add_link({plx, memory, Duration{}, {1e9}});
  for (std::int64_t g = 0; g < gpus; ++g)
    graph->add_link(
        {graph->add_vertex("g" + std::to_string(g), VertexKind::kGpu), plx, Duration{}, {1e9}});
  return std::make_shared<Cluster>(Cluster{.nodes = 1,
                                           .gpus_per_node = gpus,
                                           .network = {Duration{}, {1e9}},
                                           .intra_node = {Duration{}, {1e9}},
                                           .reduction = {gamma},
                                           .node = graph});
}

/// Two layers of 4 MB, both there after 3 s.
double exposed_ms(std::shared_ptr<const Cluster> cluster, const std::string& more = "",
                  const std::string& run = R"({"fidelity": "message"})") {
  Experiment e{.name = "test"};
  auto workload = std::make_shared<PreparedWorkload>(*two_layers());
  workload->workload.trace.layers[0].backward = Duration{};
  workload->by_tensor = workload->workload.units(Granularity::kTensor);
  e.workload = workload;
  e.cluster = std::move(cluster);
  const std::string aggregation = R"({"type": "kvstore")" + more + "}";
  const auto document = std::make_shared<Document>(
      Document{"x.json", Json{{"name", "test"},
                              {"strategy", parse_json(strategy(aggregation, kSgd, "wfbp"), "x")},
                              {"run", parse_json(run, "x")}}});
  for (const Part part : {Part::kCollective, Part::kSchedule, Part::kRun})
    read_part(document, part, e);
  return simulate(e).exposed_comm_s * 1e3;
}

TEST(Kvstore, EachGpuMergesHalf) {
  // GPU 0 copies key one to GPU 1 and, when it has added up key two, that one too: 4 ms + 4 ms in
  // each direction.
  EXPECT_NEAR(exposed_ms(node(2)), 8, 1e-9);
  EXPECT_NEAR(exposed_ms(node(2), "", "{}"), 8, 1e-9);  // analytic: nothing but the ports
}

TEST(Kvstore, AddingUpTakesNMinusOneAdditions) {
  // Three GPUs: GPU 0 and 1 merge one key each; both get two copies of 4 MB, 8 ms; 2 * 4 MB at
  // 1 ns/B take 8 ms; two copies back, 8 ms.
  EXPECT_NEAR(exposed_ms(node(3, 1e-9)), 8 + 8 + 8, 1e-9);
}

TEST(Kvstore, TheHostsLinkIsShared) {
  // 4 GPUs with one copy thread each: key two goes up in 4 * 4 ms. The threads, free at that
  // moment, take what is there, key one, and then bring down key two, and key one: all threads work
  // in the same direction, and the link never carries both.
  const double one_thread = exposed_ms(node(4), R"(, "merge": "local", "copy_threads": 1)");
  EXPECT_NEAR(one_thread, 4 * 16, 1e-9);
  // With two threads both keys go up together, 32 ms, and down together.
  EXPECT_NEAR(exposed_ms(node(4), R"(, "merge": "local")"), 2 * 32, 1e-9);
}

TEST(Kvstore, OneGpuHasNothingToAddUp) {
  EXPECT_EQ(exposed_ms(node(1)), 0);
}

TEST(Kvstore, MergesWithinOneNode) {
  try {
    training_experiment(strategy(R"({"type": "kvstore"})", kSgd), 2);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "x.json: /strategy/aggregation/type: kvstore adds up within one node, got 2 nodes");
  }
}

}  // namespace
}  // namespace steptime
