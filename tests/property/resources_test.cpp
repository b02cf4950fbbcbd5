// No link carries more than it can, and no step is shorter than its compute: over random clusters,
// aggregations, schedules, streams and both fidelities. What a link has to carry is derived from
// the strategy here, not read from the simulator.
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

constexpr double kBytes = 8e6;  // of the gradients of two_layers()

struct Setting {
  Cluster cluster;
  std::string schedule;
  std::int64_t streams = 1;
  std::string fidelity;
  std::string aggregation;
  std::string embedding = R"({"type": "async"})";
  std::string variation = "{}";
};

Setting any_setting(std::string aggregation) {
  const auto link = [] {
    // 0.5 to 400 MB/s: on a third of the networks the gradients take longer than the compute, 3 s.
    const double fraction = 1 + *rc::gen::inRange(0, 100) / 100.0;
    return Link{std::chrono::microseconds(*rc::gen::inRange(0, 3000)),
                {5e5 * fraction * std::exp2(*rc::gen::inRange(0, 9))}};
  };
  Setting s;
  s.cluster = {.nodes = *rc::gen::inRange(1, 5),
               .gpus_per_node = *rc::gen::inRange(1, 5),
               .network = link(),
               .intra_node = link()};
  s.schedule = *rc::gen::element<std::string>(
      R"({"type": "wfbp"})", R"({"type": "sync-easgd"})", R"({"type": "naive"})",
      R"({"type": "mg-wfbp"})", R"({"type": "fixed-buckets", "capacity": "5 MB"})",
      R"({"type": "tensor-fusion", "cycle": "7 ms"})",
      R"({"type": "priority", "partition": "1 MB", "credit": "2 MB"})",
      R"({"type": "priority", "partition": "1 MB", "credit": "1 B"})");
  s.streams = *rc::gen::inRange(1, 4);
  s.fidelity = *rc::gen::element<std::string>("analytic", "message");
  s.aggregation = std::move(aggregation);
  return s;
}

Result run(const Setting& s, const Cluster& cluster) {
  Experiment e{.name = "test", .file = "x.json", .workload = two_layers()};
  e.machines = std::make_shared<Cluster>(cluster);
  const auto document = std::make_shared<Document>(Document{
      "x.json",
      Json{{"name", "test"},
           {"workload", Json::object()},
           {"cluster", Json::object()},
           {"strategy", Json{{"aggregation", parse_json(s.aggregation, "x.json")},
                             {"embedding", parse_json(s.embedding, "x.json")},
                             {"schedule", parse_json(s.schedule, "x.json")},
                             {"transport", Json{{"type", "mpi"}, {"streams", s.streams}}}}},
           {"run",
            Json{{"fidelity", s.fidelity}, {"variation", parse_json(s.variation, "x.json")}}}}});
  for (const Part part : {Part::kTransport, Part::kCollective, Part::kSchedule, Part::kRun})
    read_part(document, part, e);
  e.execution = &execution_of(e);
  return simulate(e);
}
Result run(const Setting& s) {
  return run(s, s.cluster);
}

/// A step is at least as long as a link that carries `bytes` takes for them.
void expect_carries(const Result& r, double bytes, Bandwidth bandwidth) {
  RC_ASSERT(r.step_time_s >= bytes / bandwidth.bytes_per_second * (1 - 1e-9));
}

/// And at least as long as its compute.
void expect_fits(const Result& r, double bytes, Bandwidth bandwidth) {
  RC_ASSERT(r.step_time_s >= r.compute_time_s * (1 - 1e-12));
  expect_carries(r, bytes, bandwidth);
}

RC_GTEST_PROP(Resources, ARingFits, ()) {
  const Setting s = any_setting(R"({"type": "all-reduce", "collective": {"type": "ring"}})");
  const auto n = static_cast<double>(s.cluster.workers());
  const Result r = run(s);
  // Every worker sends 2 (N - 1) / N of all bytes to its neighbour; between nodes one of a node
  // does.
  if (s.cluster.nodes > 1) expect_fits(r, 2 * (n - 1) / n * kBytes, s.cluster.network.bandwidth);
  if (s.cluster.gpus_per_node > 1)
    expect_fits(r, 2 * (n - 1) / n * kBytes, s.cluster.intra_node.bandwidth);
}

RC_GTEST_PROP(Resources, AHierarchyFits, ()) {
  const Setting s =
      any_setting(R"({"type": "all-reduce", "collective": {"type": "hierarchical"}})");
  const auto nodes = static_cast<double>(s.cluster.nodes);
  const auto gpus = static_cast<double>(s.cluster.gpus_per_node);
  const Result r = run(s);
  expect_fits(r, 2 * (nodes - 1) / nodes * kBytes, s.cluster.network.bandwidth);
  // To one GPU and back, on whatever tree: a GPU's link carries all bytes one way.
  if (gpus > 1) expect_fits(r, (gpus - 1) / gpus * kBytes, s.cluster.intra_node.bandwidth);
}

std::string any_all_reduce() {
  const auto type = *rc::gen::element<std::string>(
      "ring", "multi-ring", "hierarchical", "recursive-doubling", "halving-doubling", "binary-tree",
      "double-binary-tree", "mvapich2-gdr", "mpi-opt", "baidu-ring");
  // Two ranks have one ring.
  return fmt::format(R"({{"type": "all-reduce", "collective": {{"type": "{}"{}}}}})", type,
                     type == "multi-ring" ? R"(, "rings": 1)" : "");
}

/// Whatever the algorithm, a node has nothing of the sum but what comes through its port, unless
/// the others' gradients come.
void expect_all_reduce_fits(const Setting& s) {
  const Result r = run(s);
  expect_fits(r, s.cluster.nodes > 1 ? kBytes : 0, s.cluster.network.bandwidth);
  if (s.cluster.nodes == 1 && s.cluster.gpus_per_node > 1)
    expect_fits(r, kBytes, s.cluster.intra_node.bandwidth);
}

RC_GTEST_PROP(Resources, AnyAllReduceFits, ()) {
  expect_all_reduce_fits(any_setting(any_all_reduce()));
}

// In MXNet's engine collectives of one step meet, and those of several steps.
RC_GTEST_PROP(Resources, AnEmbeddingFits, ()) {
  Setting s = any_setting(any_all_reduce());
  s.schedule = *rc::gen::element<std::string>(R"({"type": "wfbp"})", R"({"type": "sync-easgd"})",
                                              R"({"type": "fixed-buckets", "capacity": "5 MB"})");
  s.streams = 1;
  s.embedding = fmt::format(R"({{"type": "{}", "key_order": "{}"}})",
                            *rc::gen::element<std::string>("funnel", "depcha", "concum"),
                            *rc::gen::element<std::string>("forward", "backward"));
  s.variation = *rc::gen::element<std::string>("{}", R"({"spread": 0.1, "jitter": 0.2})");
  expect_all_reduce_fits(s);
}

RC_GTEST_PROP(Resources, AKvstoreFits, ()) {
  const int servers = *rc::gen::inRange(0, 4);
  Setting s =
      any_setting(fmt::format(R"({{"type": "kvstore", "merge": "{}"{}}})",
                              *rc::gen::element<std::string>("device", "local"),
                              servers > 0 ? fmt::format(R"(, "servers": {})", servers) : ""));
  if (servers == 0) {
    s.cluster.nodes = 1;
    s.variation = "{}";  // a first step may be shorter than the mean
  }
  // Nothing can leave before the first gradient is there, after 1 s of forward and 1 s of backward
  // pass; a transfer that goes on under the next forward pass is `priority`'s.
  Result r = run(s);
  RC_ASSERT(r.step_time_s >= r.compute_time_s * (1 - 1e-12));
  // Without servers it goes on there with any schedule, but in the first step alone.
  if (servers == 0) r.step_time_s = r.cold_step_time_s.value_or(r.step_time_s);
  if (servers == 0 || s.schedule.find("priority") == std::string::npos) r.step_time_s -= 2;
  // A node's sum leaves through its port, and an even share of all nodes' enters a server's, or
  // more; inside, a GPU keeps no more than its share of the keys.
  const auto nodes = static_cast<double>(s.cluster.nodes);
  const auto gpus = static_cast<double>(s.cluster.gpus_per_node);
  if (servers > 0 && nodes > 1) {
    expect_carries(r, kBytes, s.cluster.network.bandwidth);
    expect_carries(r, nodes / servers * kBytes, s.cluster.network.bandwidth);
  }
  expect_carries(r, (gpus - 1) / gpus * kBytes, s.cluster.intra_node.bandwidth);
}

RC_GTEST_PROP(Resources, ServersOnTheirOwnNodesFit, ()) {
  const int servers = *rc::gen::inRange(1, 4);
  const Setting s = any_setting(
      fmt::format(R"({{"type": "parameter-server", "servers": {}, "requests": "{}"}})", servers,
                  *rc::gen::element<std::string>("push-pull", "pushpull", "early-pull")));
  const Result r = run(s);
  // All gradients of a node leave through its port; an even share of everybody's enters a server's,
  // or more.
  const auto gpus = static_cast<double>(s.cluster.gpus_per_node);
  const auto workers = static_cast<double>(s.cluster.workers());
  expect_fits(r, gpus * kBytes, s.cluster.network.bandwidth);
  expect_fits(r, workers / servers * kBytes, s.cluster.network.bandwidth);
}

/// BytePS: reduce-scatter in each node, push and pull, all-gather in each node. Both collectives
/// are on the same links.
Setting any_hybrid() {
  Setting s = any_setting("");
  s.aggregation = fmt::format(
      R"({{"type": "hybrid", "clients": {}, "servers": {}, "requests": "pushpull",
           "collective": {{"type": "reduce-scatter"}}, "spread": {{"type": "all-gather"}}}})",
      s.cluster.nodes, *rc::gen::inRange(1, 4));
  return s;
}

RC_GTEST_PROP(Resources, AHybridFits, ()) {
  const Setting s = any_hybrid();
  const auto gpus = static_cast<double>(s.cluster.gpus_per_node);
  const Result r = run(s);
  expect_fits(r, 2 * (gpus - 1) / gpus * kBytes, s.cluster.intra_node.bandwidth);
  expect_fits(r, kBytes, s.cluster.network.bandwidth);
}

/// Two nodes have to do in each what one node does alone, and more.
RC_GTEST_PROP(Resources, AHybridIsNeverFasterThanItsStagesInANode, ()) {
  Setting s = any_hybrid();
  s.cluster.nodes = 2;
  s.aggregation = R"({"type": "hybrid", "clients": 2, "servers": 1, "requests": "pushpull",
                      "collective": {"type": "reduce-scatter"}, "spread": {"type": "all-gather"}})";
  s.schedule = *rc::gen::element<std::string>(R"({"type": "wfbp"})", R"({"type": "sync-easgd"})");
  const Result hybrid = run(s);
  Setting inside = s;
  inside.aggregation = R"({"type": "all-reduce", "collective": {"type": "ring"}})";
  inside.streams = 1;
  Cluster one = s.cluster;
  one.nodes = 1;
  one.intra_node.latency = {};
  RC_ASSERT(hybrid.step_time_s >= run(inside, one).step_time_s * (1 - 1e-9));
}

/// Several streams only overlap start-ups: the links are the same.
RC_GTEST_PROP(Resources, StreamsDoNotMakeLinks, ()) {
  Setting s = any_setting(R"({"type": "all-reduce", "collective": {"type": "ring"}})");
  s.cluster.network.latency = s.cluster.intra_node.latency = {};
  s.schedule = R"({"type": "naive"})";
  const double several = run(s).step_time_s;
  s.streams = 1;
  const double one = run(s).step_time_s;
  // A byte more or less in a part of a cut message is a picosecond to a microsecond.
  RC_ASSERT(several >= one * (1 - 1e-5));
}

/// An all-reduce whose buckets do not depend on the network.
Setting any_step_of(const std::string& collective) {
  Setting s = any_setting(
      fmt::format(R"({{"type": "all-reduce", "collective": {{"type": "{}"}}}})", collective));
  s.schedule = *rc::gen::element<std::string>(R"({"type": "wfbp"})", R"({"type": "sync-easgd"})");
  return s;
}

/// A part of a cut message may be a byte longer than another.
bool is_at_most(double a, double b) {
  return a <= b * (1 + 1e-5);
}

RC_GTEST_PROP(Resources, MoreBandwidthNeverMakesAStepLonger, ()) {
  Setting s = any_step_of(*rc::gen::element<std::string>("ring", "hierarchical",
                                                         "recursive-doubling", "halving-doubling",
                                                         "binary-tree", "double-binary-tree"));
  const double before = run(s).step_time_s;
  const double factor = 1 + *rc::gen::inRange(0, 400) / 100.0;
  s.cluster.network.bandwidth.bytes_per_second *= factor;
  s.cluster.intra_node.bandwidth.bytes_per_second *= factor;
  RC_ASSERT(is_at_most(run(s).step_time_s, before));
}

RC_GTEST_PROP(Resources, ANodeLessNeverMakesAStepLonger, ()) {
  // Doubling algorithms are left out: 3 nodes take one exchange more than 4.
  Setting s = any_step_of(*rc::gen::element<std::string>("ring", "hierarchical"));
  s.cluster.nodes = *rc::gen::inRange(2, 6);
  // With several, a start-up inside the nodes hides behind another collective's stage between them,
  // which a single node does not have: 101 us of 9 s were seen.
  s.streams = 1;
  const double before = run(s).step_time_s;
  --s.cluster.nodes;
  RC_ASSERT(is_at_most(run(s).step_time_s, before));
}

}  // namespace
}  // namespace steptime
