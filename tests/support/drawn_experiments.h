// Experiments drawn at random, small enough to take milliseconds: the same for any compiler, as
// every number is a function of the group, of the experiment's number and of its place in the draw.
//
// A drawn config is one of an experiment, but for the workload of whole models, which is given in
// full:
//
//   "workload": {"layers": [[forward us, backward us, parameters of its tensors...], ...]}
#pragma once
#include "sim/config/json.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/simulate.h"
#include "sim/workload/overlap.h"
#include "tests/support/config_text.h"
#include "tests/support/seed.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {

/// What is drawn together: experiments of one aggregation, or of an engine.
struct DrawnGroup {
  std::string_view name;
  std::int64_t experiments;
};
inline constexpr std::array kDrawnGroups{
    DrawnGroup{"all-reduce", 400}, DrawnGroup{"parameter-server", 600},
    DrawnGroup{"hybrid", 350},     DrawnGroup{"embedding", 300},
    DrawnGroup{"kvstore", 150},    DrawnGroup{"kvstore-servers", 200}};
/// Transformers that are cut over GPUs, where many words of the others have no place.
inline constexpr DrawnGroup kDrawnLayouts{"layouts", 300};

class ExperimentDraw {
 public:
  /// `number`: of the experiment, over all groups and attempts.
  explicit ExperimentDraw(std::uint32_t number, std::int64_t seed = 2026)
      : stream_(seed, Purpose::kTest), number_(number) {}

  /// The config; a few have parts that do not go with others, which reading it tells.
  Json config(std::string_view group) {
    if (group == kDrawnLayouts.name) return layout();
    Json strategy{{"aggregation", {}}};
    Json run{{"fidelity", of({"analytic", "message"})}};
    const bool is_kvstore = group.starts_with("kvstore");
    const Json cluster = this->cluster(group);
    if (group == "all-reduce") {
      strategy["aggregation"] = {{"type", "all-reduce"}, {"collective", collective()}};
      strategy["update"] = any({Json{{"type", "sgd"}}, Json{{"type", "sgd"}}, local_sgd()});
      strategy["transport"] = {{"type", "mpi"}};
      if (one_in(2))
        strategy["transport"]["coordinator"] = coordinator();  // which sends one after another
      else if (one_in(3))
        strategy["transport"]["streams"] = between(2, 4);
    } else if (group == "embedding") {
      strategy["aggregation"] = {{"type", "all-reduce"}, {"collective", collective()}};
      strategy["embedding"] = embedding();
    } else if (is_kvstore) {
      Json store = kvstore(group == "kvstore-servers");
      if (store["merge"] == Json{{"type", "nccl"}} && !cluster.contains("preset"))
        store["merge"] = "local";  // NCCL plans for GPUs that it knows
      if (group == "kvstore" && one_in(2)) {
        strategy["embedding"] = module_api();
        store.erase("issue_time");  // a thread that is simulated takes its own
      }
      strategy["aggregation"] = std::move(store);
    } else {
      strategy["aggregation"] = servers();
      strategy["aggregation"]["type"] = group;
      if (group == "hybrid") add_clients(strategy["aggregation"], cluster);
      strategy["update"] = has_servers(strategy) ? update_at_servers(strategy["aggregation"])
                                                 : any({Json{{"type", "sgd"}}, local_sgd()});
    }
    strategy["schedule"] = schedule(group == "embedding" || is_kvstore);
    if (has_servers(strategy) && one_in(3))
      strategy["transport"] = {{"type", "mpi"}, {"channel", channel()}};
    if (group == "hybrid" && one_in(4)) strategy["transport"]["type"] = "mpi";
    if (group == "hybrid" && strategy.contains("transport") && one_in(2))
      strategy["transport"]["streams"] = between(2, 3);
    if (one_in(3)) run["steps"] = between(1, 8);
    if (one_in(3)) run["variation"] = variation(group == "embedding" || group == "kvstore");
    if (one_in(4)) run["seed"] = between(2, 99);
    return {{"name", "drawn"},
            {"workload", workload()},
            {"cluster", cluster},
            {"strategy", strategy},
            {"run", run}};
  }

  // What it is made of:
  std::int64_t between(std::int64_t least, std::int64_t most) {
    const double share = stream_.uniform(number_, next_++);
    return least + static_cast<std::int64_t>(share * static_cast<double>(most - least + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  std::string of(std::initializer_list<const char*> texts) {
    return *std::next(texts.begin(), between(0, std::ssize(texts) - 1));
  }
  Json any(std::initializer_list<Json> values) {
    return *std::next(values.begin(), between(0, std::ssize(values) - 1));
  }

  /// Some tensors are so large that all servers have a part of them; some layers have none.
  Json workload() {
    Json layers = Json::array();
    const std::int64_t count = between(1, 7);
    for (std::int64_t l = 0; l < count; ++l) {
      // Times of whole hundreds are often equal, and events coincide.
      const std::int64_t unit = one_in(3) ? 100 : 1;
      Json layer{between(0, 2000 / unit) * unit, between(1, 3000 / unit) * unit};
      const std::int64_t tensors = l == 0 ? 1 : between(0, 2);
      for (std::int64_t t = 0; t < tensors; ++t)
        layer.push_back(one_in(4) ? between(1'000'000, 3'000'000) : between(1, 300'000));
      layers.push_back(std::move(layer));
    }
    return {{"layers", layers}};
  }
  Json link(std::int64_t most_us) {
    return {
        {"type", "switch"},
        {"latency", fmt::format("{} us", one_in(4) ? 0 : between(1, most_us))},
        {"bandwidth", of({"500 MB/s", "1 GB/s", "1.25 GB/s", "3 GB/s", "7 GB/s", "12.5 GB/s"})}};
  }
  Json cluster(std::string_view group) {
    if (group.starts_with("kvstore") && one_in(4)) {
      return {{"preset", of({"dgx-1-v100", "dgx-1-p100"})},
              {"nodes", group == "kvstore" ? 1 : between(1, 2)}};
    }
    const bool needs_gpus = group.starts_with("kvstore");
    Json cluster{{"nodes", group == "kvstore" ? 1 : between(1, 5)},
                 {"gpus_per_node", between(needs_gpus ? 2 : 1, needs_gpus ? 6 : 3)},
                 {"network", link(50)},
                 {"intra_node", link(10)}};
    if (one_in(2)) cluster["reduction"] = of({"0.1 ns/B", "0.03 ns/B"});
    if (one_in(6)) cluster["messages"] = {{"ports", "fifo"}};
    return cluster;
  }
  Json collective() {
    return {{"type", of({"ring", "ring", "hierarchical", "recursive-doubling", "halving-doubling",
                         "binary-tree", "double-binary-tree"})}};
  }
  Json schedule(bool is_planned) {
    const std::int64_t kind = between(0, is_planned ? 5 : 8);
    switch (kind) {
      case 0:
        return {{"type", "sync-easgd"}};
      case 1:
        return {{"type", "mg-wfbp"}};
      case 2:
        return {{"type", "fixed-buckets"}, {"capacity", of({"1 MB", "5 MB"})}};
      case 3:
        return {{"type", "naive"}};
      case 6:
        return {{"type", "tensor-fusion"},
                {"cycle", of({"0 s", "1 ms", "3.5 ms"})},
                {"threshold", of({"1 MB", "8 MB"})}};
      case 7:
        return {{"type", "priority"},
                {"partition", of({"500 kB", "2 MB"})},
                {"credit", of({"1 B", "4 MB"})},
                {"waits", of({"layer", "step"})}};
      default:
        return {{"type", "wfbp"}, {"granularity", of({"tensor", "layer"})}};
    }
  }
  Json local_sgd() { return {{"type", "local-sgd"}, {"interval", between(1, 5)}}; }
  /// Parameters that are averaged are pulled in the step that pushes them.
  Json update_at_servers(Json& servers) {
    const Json update =
        any({Json{{"type", "sgd"}}, Json{{"type", "sgd"}}, local_sgd(), Json{{"type", "asgd"}},
             Json{{"type", "esgd"}, {"interval", between(1, 6)}}});
    const bool averages = update["type"] == "local-sgd" || update["type"] == "esgd";
    if (averages && servers["requests"] == "next-step") {
      servers["requests"] = of({"push-pull", "pushpull", "early-pull"});
      servers.erase("pull_order");
    }
    return update;
  }
  Json coordinator() {
    return any({Json{{"type", "horovod"}, {"cycle", of({"1 ms", "5 ms", "0 s"})}},
                Json{{"type", "horovod"}, {"version", of({"0.16.2", "0.21.0"})}},
                Json{{"type", "baidu"}, {"tick", of({"1 ms", "0 s"})}, {"handling", "3 us"}}});
  }
  Json embedding() {
    Json made{{"type", of({"funnel", "concum", "depcha", "naive"})},
              {"key_order", of({"forward", "backward"})},
              {"priority", of({"key", "none"})},
              {"python_call", of({"0 s", "45 us"})},
              {"bulk", between(1, 15)}};
    // More than one thread of the naive embedding may wait for ever.
    if (made["type"] == "naive") made["threads"] = 1;
    if (made["type"] == "depcha") made["threads"] = between(1, 4);
    if (made["type"] == "concum") made["outstanding"] = between(1, 4);
    if (one_in(4)) made["jitter"] = of({"0.1", "0.3"}) == "0.1" ? 0.1 : 0.3;
    if (one_in(3)) made["copy_bandwidth"] = "2 GB/s";
    return made;
  }
  Json module_api() {
    return {{"type", "module"},
            {"key_order", of({"forward", "backward"})},
            {"python_call", of({"0 s", "45 us"})},
            {"bulk", between(1, 15)}};
  }
  Json channel() {
    return any({Json{{"type", "grpc"}, {"threads", between(1, 3)}}, Json{{"type", "grpc-mpi"}},
                Json{{"type", "grpc-accelerated"}}, Json{{"type", "grpc-verbs"}},
                Json{{"type", "grpc-gdr"}}, Json{{"type", "zmq"}, {"rate", "2 GB/s"}},
                Json{{"type", "rdma-van"}}});
  }
  Json servers() {
    Json made{{"type", ""},
              {"servers", between(1, 4)},
              {"requests", of({"push-pull", "pushpull", "early-pull", "next-step"})}};
    if (one_in(2)) made["placement"] = "with-workers";
    if (one_in(3)) {
      made["sharding"] = any({Json{{"type", "byteps"}, {"partition", between(1, 4) * 250'000}},
                              Json{{"type", "greedy"}}, Json{{"type", "round-robin"}}});
    }
    if (one_in(3)) made["rate"] = of({"1 GB/s", "6 GB/s"});
    if (one_in(4)) made["request_time"] = of({"5 us", "40 us"});
    if (one_in(4)) made["update_cost"] = "0.2 ns/B";
    if (made["requests"] == "next-step") made["pull_order"] = of({"random", "forward"});
    return made;
  }
  /// A client is a GPU, a node, several nodes, or all; without servers it is all.
  void add_clients(Json& aggregation, const Json& cluster) {
    const auto nodes = cluster["nodes"].get<std::int64_t>();
    const auto gpus = cluster["gpus_per_node"].get<std::int64_t>();
    const std::int64_t clients = any({nodes * gpus, nodes, nodes, 1}).get<std::int64_t>();
    if (clients == 1 && one_in(2)) aggregation = {{"type", "hybrid"}, {"servers", 0}};
    aggregation["clients"] = clients;
    aggregation["collective"] = collective();
  }
  Json kvstore(bool meets) {
    Json made{{"type", "kvstore"},
              {"merge", of({"device", "local"})},
              {"copy_threads", between(1, 3)},
              {"priority", of({"last-key", "first-key"})}};
    if (one_in(3)) made["issue_time"] = of({"20 us", "100 us"});
    if (one_in(3)) made["calls"] = "pushes-first";
    if (!meets) {
      if (one_in(4)) made["merge"] = any({Json{{"type", "tree"}}, Json{{"type", "nccl"}}});
      return made;
    }
    made["servers"] = between(1, 3);
    if (one_in(2)) made["placement"] = "with-workers";
    if (one_in(3)) made["rate"] = "3 GB/s";
    if (one_in(3)) made["client_rate"] = "2 GB/s";
    if (one_in(3)) made["request_time"] = "20 us";
    return made;
  }
  /// A small transformer, cut over up to 32 GPUs in any order of ranks.
  Json layout() {
    const std::int64_t tensor = power_of_two(2);
    const std::int64_t context = power_of_two(1);
    const std::int64_t pipeline = between(1, 4);
    const std::int64_t data = between(1, 4);
    Json degrees{{"tensor", tensor}, {"context", context}, {"pipeline", pipeline}};
    if (one_in(2))
      degrees["order"] = of({"tensor-context-data-pipeline", "tensor-context-pipeline-data",
                             "pipeline-tensor-data-context", "data-context-tensor-pipeline"});
    if (tensor > 1 && one_in(2)) degrees["sequence_parallel"] = true;
    Json strategy{{"layout", degrees},
                  {"states", states(context * data)},
                  {"recompute", any({Json("none"), Json("selective"), Json("full"),
                                     Json{{"type", "full"}, {"every", 2}},
                                     Json{{"type", "full"}, {"layers", {0, 3}}}})},
                  {"context_exchange", of({"ring", "all-gather", "ulysses"})}};
    const std::int64_t micro_batches = between(1, 6);
    if (pipeline > 1) {
      strategy["pipeline_order"] = any({Json("gpipe"), Json("1f1b"), Json("zb-h1"),
                                        Json{{"type", "interleaved"}, {"chunks", 12 / pipeline}}});
    }
    if (one_in(2)) strategy["beside_compute"] = beside_compute();
    if (one_in(3))
      strategy["aggregation"] = {{"type", "all-reduce"}, {"collective", "hierarchical"}};
    if (one_in(4)) strategy["schedule"] = schedule(true);
    Json workload{{"model", "mpt-125m"},
                  {"device", of({"a100", "h100"})},
                  {"batch", between(1, 2)},
                  {"sequence", 256},
                  {"accumulate", micro_batches}};
    if (one_in(4)) {
      const double factor = 1 + static_cast<double>(between(0, 8)) / 8;
      workload["overlap"] = {{"type", "factors"}, {"compute", factor}, {"collective", factor}};
    }
    const std::int64_t ranks = tensor * context * pipeline * data;
    const std::int64_t gpus = any({1, tensor, tensor * context, ranks}).get<std::int64_t>();
    Json cluster{{"nodes", ranks / gpus},
                 {"gpus_per_node", gpus},
                 {"network", link(20)},
                 {"intra_node", link(5)}};
    if (one_in(4)) cluster["intra_node_beside_kernels"] = 1.5;
    Json run{{"fidelity", of({"analytic", "message"})}};
    if (one_in(4)) run["variation"] = {{"spread", 0.03}};
    return {{"name", "drawn"},
            {"workload", workload},
            {"cluster", cluster},
            {"strategy", strategy},
            {"run", run}};
  }
  std::int64_t power_of_two(std::int64_t most) { return std::int64_t{1} << between(0, most); }
  /// Of ranks that share parameters.
  Json states(std::int64_t sharers) {
    const std::int64_t kind = between(0, 2);
    if (kind == 0) return {{"type", "replicated"}};
    if (kind == 1) {
      Json zero{{"type", "zero"}, {"stage", between(1, 3)}};
      if (zero["stage"] == 3 && one_in(3)) zero["share_of_adapters"] = 0.5;
      return zero;
    }
    Json fsdp{{"type", "fsdp"},
              {"units", between(1, 4)},
              {"prefetch", of({"backward", "none"})},
              {"gathers", between(1, 2)}};
    if (one_in(2)) fsdp["reshard"] = one_in(2);
    std::int64_t shards = 0;
    do
      shards = between(1, sharers);
    while (sharers % shards != 0);
    if (one_in(2)) fsdp["shard_group"] = shards;
    return fsdp;
  }
  Json beside_compute() {
    Json kinds = Json::array();
    for (const char* kind : {"gradients", "weights", "tensor", "input-gradients", "pipeline",
                             "pipeline-by-order", "context"}) {
      if (one_in(2)) kinds.push_back(kind);
    }
    return kinds;
  }
  Json variation(bool has_one_seed) {
    Json made = any({Json{{"jitter", 0.1}}, Json{{"spread", 0.2}, {"jitter", 0.05}},
                     Json{{"straggle_chance", 0.3}, {"straggle_factor", 3}}});
    if (!has_one_seed && one_in(3)) made["seeds"] = 3;
    return made;
  }

 private:
  static bool has_servers(const Json& strategy) {
    return strategy["aggregation"].value("servers", 0) > 0;
  }

  RandomStream stream_;
  std::uint32_t number_;
  std::uint32_t next_ = 0;
};

/// Throws InputError.
inline Experiment drawn_experiment(const Json& config) {
  if (!config["workload"].contains("layers"))
    return read_experiment(std::make_shared<Document>(Document{"drawn.json", config}));
  Trace trace{.model = "drawn", .device = "none", .batch = 1};
  for (const Json& drawn : config["workload"]["layers"]) {
    const std::string name = fmt::format("l{}", trace.layers.size());
    Layer layer{.name = name,
                .forward = std::chrono::microseconds(drawn[0].get<std::int64_t>()),
                .backward = std::chrono::microseconds(drawn[1].get<std::int64_t>())};
    for (std::size_t t = 2; t < drawn.size(); ++t)
      layer.tensors.push_back({fmt::format("{}.{}", name, t), drawn[t].get<std::int64_t>()});
    trace.layers.push_back(std::move(layer));
  }
  Workload workload{.trace = std::move(trace)};
  if (config["workload"].contains("overlap"))
    workload.overlap = make<Overlap>(config["workload"]["overlap"].dump());
  Experiment e{.name = "drawn",
               .file = "drawn.json",
               .workload = std::make_shared<PreparedWorkload>(std::move(workload))};
  Json rest = config;
  rest["workload"] = Json::object();
  const auto document = std::make_shared<Document>(Document{"drawn.json", std::move(rest)});
  for (const Part part : kParts) {
    if (part != Part::kWorkload) read_part(document, part, e);
  }
  complete(e, [&] { return document; });
  return e;
}

/// An experiment of the group, at a fidelity of its own where none is given, and with a change;
/// parts that do not go together are drawn anew, as are ranks that wait for each other for ever.
inline Json any_of_group(ExperimentDraw& draw, std::string_view group,
                         std::string_view fidelity = "",
                         const std::function<void(Json&)>& change = {}) {
  for (;;) {
    Json config = draw.config(group);
    if (!fidelity.empty()) config["run"]["fidelity"] = fidelity;
    if (change) change(config);
    try {
      (void)simulate(drawn_experiment(config));
      return config;
    } catch (const InputError&) {
    } catch (const ModelFailure&) {
    }
  }
}

}  // namespace steptime
