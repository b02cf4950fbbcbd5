// The same system gives the same answer, whichever way it is said: pairs of configs that describe
// one system, drawn at random (tests/support/seed.h).
#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/experiment/simulate.h"
#include "sim/experiment/training_run.h"
#include "sim/training/play.h"
#include "tests/support/drawn_experiments.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr int kPairs = 250;
constexpr double kHalfAPicosecond = 0.5e-12;
/// A mean over several steps is rounded down to a picosecond in an engine.
constexpr double kRounding = 1.5e-12;

using Pair = std::pair<Json, Json>;

double cold_of(const Result& r) {
  return r.cold_step_time_s.value_or(r.step_time_s);
}

/// Whether the second of two results is as it should be beside the first, whose config it is.
using Agree = std::function<bool(const Json&, const Result&, const Result&)>;

bool are_within(double most, const Result& x, const Result& y) {
  return std::abs(x.step_time_s - y.step_time_s) < most && std::abs(cold_of(x) - cold_of(y)) < most;
}

bool are_equal(const Json&, const Result& x, const Result& y) {
  return are_within(kHalfAPicosecond, x, y);
}

/// Both give one number, cold and steady, or agree in another way. At most one draw in ten may be
/// thrown away, because it is refused or because its ranks wait for each other for ever.
void expect_the_same(const std::string& what, const std::function<Pair(ExperimentDraw&)>& draw,
                     const std::function<Result(const Experiment&)>& second = {},
                     const Agree& agree = are_equal) {
  constexpr int kMostShown = 3;
  int played = 0;
  int thrown_away = 0;
  int different = 0;
  for (std::uint32_t i = 0; played < kPairs && thrown_away <= kPairs; ++i) {
    ExperimentDraw drawn(i, seed_of_the_run());
    const auto [a, b] = draw(drawn);
    try {
      const Result x = simulate(drawn_experiment(a));
      const Experiment other = drawn_experiment(b);
      const Result y = second ? second(other) : simulate(other);
      ++played;
      if (agree(a, x, y) || ++different > kMostShown) continue;
      ADD_FAILURE() << what << ", draw " << i << ":\n  " << a.dump() << "\ngives "
                    << fmt::format("{} s, cold {} s", x.step_time_s, cold_of(x)) << ", but\n  "
                    << b.dump() << "\ngives "
                    << fmt::format("{} s, cold {} s", y.step_time_s, cold_of(y));
    } catch (const InputError& refusal) {
      ++thrown_away;
      if (std::getenv("STEPTIME_SHOW_REFUSALS") != nullptr) fmt::print("{}\n", refusal.what());
    } catch (const ModelFailure&) {
      ++thrown_away;
    }
  }
  fmt::print("{}: seed {}, {} pairs, {} draws thrown away\n", what, seed_of_the_run(), played,
             thrown_away);
  EXPECT_EQ(different, 0) << "of " << played << " pairs, " << what;
  EXPECT_EQ(played, kPairs) << what;
  EXPECT_LE(10 * thrown_away, played + thrown_away) << what;
}

/// Without a strategy; variation where workers may differ.
Json any_config(ExperimentDraw& draw, const std::string& group, bool varies = true) {
  Json run{{"fidelity", draw.of({"analytic", "message"})}};
  if (varies && draw.one_in(3)) run["variation"] = draw.variation(true);
  return {{"name", "drawn"},
          {"workload", draw.workload()},
          {"cluster", draw.cluster(group)},
          {"strategy", Json::object()},
          {"run", run}};
}

Pair with_strategies(Json config, const Json& a, const Json& b) {
  config["strategy"] = a;
  Json other = config;
  other["strategy"] = b;
  return {config, other};
}

/// `strategy` with another update.
Json updated(Json strategy, const Json& update) {
  strategy["update"] = update;
  return strategy;
}

const Json kSynchronous{{"type", "sgd"}};
const Json kAverageEveryStep{{"type", "local-sgd"}, {"interval", 1}};

/// One bucket, or several after the whole backward pass.
Json after_the_backward_pass(ExperimentDraw& draw) {
  return {{"type", draw.of({"naive", "sync-easgd"})}};
}

TEST(SameSystem, AHybridOfOneClientPerWorkerIsServersAlone) {
  expect_the_same("hybrid of one client per worker = parameter-server", [](ExperimentDraw& draw) {
    const Json config = any_config(draw, "hybrid");
    const std::int64_t workers = config["cluster"]["nodes"].get<std::int64_t>() *
                                 config["cluster"]["gpus_per_node"].get<std::int64_t>();
    Json servers = draw.servers();
    servers["type"] = "parameter-server";
    Json hybrid = servers;
    hybrid["type"] = "hybrid";
    hybrid["clients"] = workers;
    Json strategy{{"aggregation", servers},
                  {"update", draw.any({kSynchronous, Json{{"type", "asgd"}}})},
                  {"schedule", draw.schedule(false)}};
    if (draw.one_in(3)) strategy["transport"] = {{"type", "mpi"}, {"channel", draw.channel()}};
    Json other = strategy;
    other["aggregation"] = hybrid;
    return with_strategies(config, strategy, other);
  });
}

TEST(SameSystem, AHybridOfOneClientWithoutServersIsAllReduce) {
  expect_the_same("hybrid of one client without servers = all-reduce", [](ExperimentDraw& draw) {
    const Json config = any_config(draw, "all-reduce");
    const Json collective = draw.collective();
    Json strategy{{"aggregation", {{"type", "all-reduce"}, {"collective", collective}}},
                  {"schedule", draw.schedule(false)},
                  {"transport", {{"type", "mpi"}, {"streams", draw.between(1, 3)}}}};
    Json other = strategy;
    other["aggregation"] = {
        {"type", "hybrid"}, {"clients", 1}, {"servers", 0}, {"collective", collective}};
    return with_strategies(config, strategy, other);
  });
}

TEST(SameSystem, AsynchronousSgdOfOneWorkerIsSgd) {
  expect_the_same("ASGD of one worker = SGD", [](ExperimentDraw& draw) {
    Json config = any_config(draw, "parameter-server");
    config["cluster"]["nodes"] = 1;
    config["cluster"]["gpus_per_node"] = 1;
    config["run"]["steps"] = 20;  // of either
    Json servers = draw.servers();
    servers["type"] = "parameter-server";
    Json strategy{{"aggregation", servers}, {"schedule", draw.schedule(false)}};
    if (draw.one_in(3)) strategy["transport"] = {{"type", "mpi"}, {"channel", draw.channel()}};
    return with_strategies(config, updated(strategy, kSynchronous),
                           updated(strategy, {{"type", "asgd"}}));
  });
}

TEST(SameSystem, LocalSgdOfIntervalOneIsSgdWithAllReduce) {
  expect_the_same("local SGD of interval 1 = SGD, all-reduce", [](ExperimentDraw& draw) {
    const Json config = any_config(draw, "all-reduce");
    const Json strategy{
        {"aggregation", {{"type", "all-reduce"}, {"collective", draw.collective()}}},
        {"schedule", after_the_backward_pass(draw)}};
    return with_strategies(config, updated(strategy, kSynchronous),
                           updated(strategy, kAverageEveryStep));
  });
}

TEST(SameSystem, LocalSgdOfIntervalOneIsSgdWithServers) {
  expect_the_same("local SGD of interval 1 = SGD, servers", [](ExperimentDraw& draw) {
    const Json config = any_config(draw, "parameter-server");
    Json servers = draw.servers();
    servers["type"] = "parameter-server";
    // With "next-step", the only one that has an order of pulls, local SGD is refused: it pulls in
    // the step that pushes.
    servers["requests"] = draw.of({"push-pull", "pushpull", "early-pull"});
    servers.erase("pull_order");
    // One partition for all. Several go in the order of gradients, last layer first, where SGD
    // sends them, but in that of keys where parameters are averaged (001 Figure 8).
    if (servers.contains("sharding") && servers["sharding"]["type"] == "byteps")
      servers["sharding"]["partition"] = 100'000'000;
    const Json strategy{{"aggregation", servers}, {"schedule", {{"type", "sync-easgd"}}}};
    return with_strategies(config, updated(strategy, kSynchronous),
                           updated(strategy, kAverageEveryStep));
  });
}

/// Tensors of 240 values: a ring of up to six workers has parts of whole bytes.
Json whole_parts(Json workload) {
  for (Json& layer : workload["layers"]) {
    for (std::size_t t = 2; t < layer.size(); ++t)
      layer[t] = (layer[t].get<std::int64_t>() / 240 + 1) * 240;
  }
  return workload;
}

Pair at_both_fidelities(Json config) {
  Json other = config;
  config["run"]["fidelity"] = "analytic";
  other["run"]["fidelity"] = "message";
  return {config, other};
}

TEST(SameSystem, OneMessageTakesTheSameAtBothFidelities) {
  expect_the_same("one message at both fidelities", [](ExperimentDraw& draw) {
    Json config = any_config(draw, "parameter-server");
    config["cluster"]["nodes"] = 1;
    config["cluster"]["gpus_per_node"] = 1;
    config["cluster"].erase("messages");
    Json servers{{"type", "parameter-server"},
                 {"servers", 1},
                 {"requests", draw.of({"push-pull", "pushpull", "early-pull"})}};
    if (draw.one_in(2)) servers["placement"] = "with-workers";
    config["strategy"] = {{"aggregation", servers}, {"schedule", {{"type", "sync-easgd"}}}};
    return at_both_fidelities(config);
  });
}

/// Of single GPUs in up to six nodes, one ring after another.
Json with_rings(ExperimentDraw& draw, Json config, std::int64_t least_nodes) {
  config["cluster"]["nodes"] = draw.between(least_nodes, 6);
  config["cluster"]["gpus_per_node"] = 1;
  config["cluster"].erase("messages");
  config["strategy"] = {
      {"aggregation", {{"type", "all-reduce"}, {"collective", {{"type", "ring"}}}}},
      {"schedule", {{"type", draw.of({"wfbp", "naive", "sync-easgd", "mg-wfbp"})}}}};
  return config;
}

TEST(SameSystem, RingsOneAfterAnotherTakeTheSameAtBothFidelities) {
  expect_the_same("rings one after another at both fidelities", [](ExperimentDraw& draw) {
    Json config = with_rings(draw, any_config(draw, "all-reduce"), 1);
    config["workload"] = whole_parts(config["workload"]);
    // A byte takes whole picoseconds, so that no message is rounded.
    config["cluster"]["network"]["bandwidth"] =
        draw.of({"500 MB/s", "1 GB/s", "1.25 GB/s", "12.5 GB/s"});
    return at_both_fidelities(config);
  });
}

// Of parts that are not whole bytes a message has the next whole number of them or the one before:
// of each ring's chain of 2 (N - 1) messages at most a byte's time each, with N - 1 of which comes
// the time to add a byte up.
TEST(SameSystem, RingsOfOddSizesDifferByAByteAMessageAtMost) {
  expect_the_same(
      "rings of odd sizes at both fidelities",
      [](ExperimentDraw& draw) {
        return at_both_fidelities(with_rings(draw, any_config(draw, "all-reduce", false), 2));
      },
      {},
      [](const Json& config, const Result& x, const Result& y) {
        const auto ranks = config["cluster"]["nodes"].get<double>();
        const auto cluster = drawn_experiment(config).cluster;
        const double byte = 1 / cluster->network.bandwidth.bytes_per_second;
        const double chain = (ranks - 1) * (2 * byte + cluster->reduction.seconds_per_byte);
        return are_within(kHalfAPicosecond + static_cast<double>(x.messages) * chain, x, y);
      });
}

/// What kernels and collectives, or links inside nodes, cost each other.
void add_costs_of_overlap(ExperimentDraw& draw, Json& config) {
  const auto factor = [&] { return 1 + static_cast<double>(draw.between(0, 20)) / 8; };
  if (draw.one_in(2)) {
    config["workload"]["overlap"] = {
        {"type", "factors"}, {"compute", factor()}, {"collective", factor()}};
  } else {
    config["workload"]["overlap"] = {
        {"type", "multiprocessors"}, {"multiprocessors", 80}, {"blocks", draw.between(0, 40)}};
  }
  if (draw.one_in(2)) config["cluster"]["intra_node_beside_kernels"] = factor();
}

TEST(SameSystem, EachFastPathIsItsProgram) {
  const auto by_programs = [](const Experiment& e) {
    const WithoutFastPaths none;
    return simulate(e);
  };
  for (const DrawnGroup& group : kDrawnGroups) {
    expect_the_same(
        fmt::format("fast paths = programs, {}", group.name),
        [&](ExperimentDraw& draw) {
          Json config = draw.config(group.name);
          if (group.name == "embedding" && draw.one_in(2)) add_costs_of_overlap(draw, config);
          if (group.name == "embedding" && draw.one_in(3))
            config["strategy"]["update"] = draw.local_sgd();
          return Pair{config, config};
        },
        by_programs);
  }
}

// Every worker is played by itself, and plays as many steps as one that stands for all.
TEST(SameSystem, WorkersWhoseSpeedIsSaidToBeOneAreAlike) {
  for (const DrawnGroup& group : kDrawnGroups) {
    expect_the_same(
        fmt::format("a speed of 1 = no variation, {}", group.name), [&](ExperimentDraw& draw) {
          Json config = draw.config(group.name);
          Json& strategy = config["strategy"];
          if (group.name == "kvstore-servers" && draw.one_in(2)) {
            strategy["embedding"] = draw.module_api();
            strategy["aggregation"].erase("issue_time");
          }
          config["run"].erase("variation");
          Json other = config;
          other["run"]["variation"] = {{"gpus", Json::array({Json{{"node", 0}, {"speed", 1}}})}};
          return Pair{config, other};
        });
  }
}

TEST(SameSystem, TheClosedFormOfAStepIsItsProgram) {
  const auto by_its_program = [](const Experiment& e) {
    Result result = simulate(e);
    result.step_time_s = play_programs(plan_training(e), 1).step_s;
    return result;
  };
  expect_the_same(
      "closed form of a step = its program",
      [](ExperimentDraw& draw) {
        Json config = any_config(draw, "all-reduce", false);
        config["strategy"] = {
            {"aggregation", {{"type", "all-reduce"}, {"collective", draw.collective()}}},
            {"schedule", draw.schedule(true)}};
        return Pair{config, config};
      },
      by_its_program);
}

/// In MXNet's engine, with keys in the order of the backward pass, as async sends its buckets.
Json without_host_costs(Json embedding) {
  // So fast that no copy takes half a picosecond.
  for (const char* free : {"python_call", "engine_push", "wake_up", "copy_latency"})
    embedding[free] = "0 s";
  embedding["key_order"] = "backward";
  embedding["copy_bandwidth"] = "1e12 GB/s";
  return embedding;
}

Json wfbp(ExperimentDraw&) {
  return Json{{"schedule", {{"type", "wfbp"}}}};
}

/// `embedding` beside async, with what else a strategy has; `change`: of the layers.
void expect_wfbp_of(Json embedding, const std::function<Json(ExperimentDraw&)>& when = wfbp,
                    const std::function<void(Json&)>& change = {}, const Agree& agree = are_equal) {
  embedding = without_host_costs(std::move(embedding));
  expect_the_same(
      fmt::format("{} and async", embedding.dump()),
      [&](ExperimentDraw& draw) {
        Json config = any_config(draw, "all-reduce", false);
        if (change)
          change(config["workload"]["layers"]);
        else if (draw.one_in(2))
          add_costs_of_overlap(draw, config);
        Json strategy = when(draw);
        strategy["aggregation"] = {{"type", "all-reduce"}, {"collective", draw.collective()}};
        Json other = strategy;
        other["embedding"] = embedding;
        if (!embedding.contains("bulk")) other["embedding"]["bulk"] = draw.between(1, 4);
        return with_strategies(config, strategy, other);
      },
      {}, agree);
}

/// A coordinator, or fusion, whose steps are alike: no cycle of theirs is longer than what it does.
Json any_policy(ExperimentDraw& draw) {
  const auto horovod = [&](const char* handling) {
    return Json{{"type", "mpi"},
                {"coordinator", {{"type", "horovod"}, {"cycle", "0 s"}, {"handling", handling}}}};
  };
  Json strategy{{"schedule", {{"type", "wfbp"}}}};
  if (draw.one_in(3)) strategy["schedule"] = {{"type", "tensor-fusion"}, {"cycle", "0 s"}};
  if (strategy["schedule"]["type"] == "wfbp" || draw.one_in(2))
    strategy["transport"] = horovod(draw.one_in(2) ? "0 s" : "0.5 us");
  return strategy;
}

TEST(SameSystem, FunnelWithoutHostCostsIsWfbp) {
  expect_wfbp_of({{"type", "funnel"}});
}

// Workers send nothing before the whole backward pass; in an engine each key goes by itself, of
// those that are there together naive's the first layer's before others.
TEST(SameSystem, LocalStepsInAnEngineWithoutHostCostsAreThoseOfWorkers) {
  const auto local_steps = [](ExperimentDraw& draw) {
    return Json{{"schedule", after_the_backward_pass(draw)}, {"update", draw.local_sgd()}};
  };
  const auto in_one_message = [](ExperimentDraw& draw) {
    return Json{{"schedule", {{"type", "sync-easgd"}}}, {"update", draw.local_sgd()}};
  };
  const Agree but_for_rounding = [](const Json&, const Result& workers, const Result& engine) {
    return are_within(kRounding, workers, engine);
  };
  expect_wfbp_of({{"type", "funnel"}}, local_steps, {}, but_for_rounding);
  expect_wfbp_of({{"type", "depcha"}, {"threads", 1}}, local_steps, {}, but_for_rounding);
  expect_wfbp_of({{"type", "naive"}}, in_one_message, {}, but_for_rounding);
}

// The first layer of each model that is drawn has parameters. Naive's thread takes what waits by
// priority, the first layer's sum before others, so that a forward pass of several segments begins
// earlier; here it takes them in turn.
TEST(SameSystem, EmbeddingsOfOneThreadWithoutHostCostsAreWfbp) {
  expect_wfbp_of({{"type", "depcha"}, {"threads", 1}});
  expect_wfbp_of({{"type", "naive"}, {"threads", 1}, {"order", "fifo"}});
}

// Where the first layer has no parameters its forward pass waits for no sum: async begins a step
// when all sums are there, an engine before that.
TEST(SameSystem, EmbeddingsOfOneThreadAreAtMostWfbpWhereTheFirstLayerHasNoParameters) {
  const auto without_first = [](Json& layers) { layers.insert(layers.begin(), Json{700, 900}); };
  const Agree at_most = [](const Json&, const Result& async, const Result& engine) {
    return engine.step_time_s < async.step_time_s + kHalfAPicosecond &&
           cold_of(engine) < cold_of(async) + kHalfAPicosecond;
  };
  for (const char* type : {"depcha", "naive"}) {
    bool one_is_less = false;
    expect_wfbp_of({{"type", type}, {"threads", 1}}, wfbp, without_first,
                   [&](const Json& config, const Result& async, const Result& engine) {
                     one_is_less = one_is_less || engine.step_time_s < async.step_time_s - 1e-6;
                     return at_most(config, async, engine);
                   });
    EXPECT_TRUE(one_is_less) << type;
  }
}

// By way of servers, each worker or each group of workers a client, with one message: of several
// an engine's forward pass waits layer by layer, and workers for all. An engine's step is its first
// rank's, that of workers the last one's: of several clients that wait for each other, and come
// apart, only the first step is one number. Of those that do not wait both are means over clients:
// the same where all have the same way to servers; else, as it matters who is first of several that
// come at one instant, the first step is.
TEST(SameSystem, AnEmbeddingWithoutHostCostsMeetsServersAsWorkersDo) {
  const auto pair = [](ExperimentDraw& draw) {
    const std::string group = draw.of({"parameter-server", "hybrid"});
    Json config = any_config(draw, group, false);
    for (const char* link : {"network", "intra_node"}) {
      if (config["cluster"][link]["latency"] == "0 us") config["cluster"][link]["latency"] = "1 us";
    }
    Json aggregation = draw.servers();
    aggregation["type"] = group;
    if (group == "hybrid") draw.add_clients(aggregation, config["cluster"]);
    if (aggregation.value("requests", "") == "next-step") {
      aggregation["requests"] = "push-pull";
      aggregation.erase("pull_order");
    }
    aggregation.erase("sharding");  // shards are messages of their own
    const Json update = aggregation.value("servers", 0) > 0
                            ? draw.update_at_servers(aggregation)
                            : draw.any({kSynchronous, draw.local_sgd()});
    const Json strategy{
        {"aggregation", aggregation}, {"update", update}, {"schedule", {{"type", "sync-easgd"}}}};
    Json other = strategy;
    other["embedding"] = without_host_costs({{"type", "naive"}});
    return with_strategies(config, strategy, other);
  };
  int of_one_client = 0;
  int apart = 0;
  expect_the_same(
      "naive = async, servers", pair, {},
      [&](const Json& config, const Result& workers, const Result& engine) {
        const Json& cluster = config["cluster"];
        const Json& aggregation = config["strategy"]["aggregation"];
        const std::int64_t gpus =
            cluster["nodes"].get<std::int64_t>() * cluster["gpus_per_node"].get<std::int64_t>();
        const std::string update = config["strategy"]["update"]["type"];
        const bool is_apart = update == "asgd" || update == "esgd";
        const bool is_one = aggregation.value("clients", gpus) == 1;
        apart += is_apart ? 1 : 0;
        of_one_client += is_one ? 1 : 0;
        const bool starts_alike = std::abs(cold_of(engine) - cold_of(workers)) < kRounding;
        const bool have_one_way = is_apart && aggregation.value("placement", "") != "with-workers";
        if (is_one || have_one_way) return are_within(kRounding, workers, engine);
        return starts_alike;
      });
  EXPECT_GT(of_one_client, kPairs / 20);
  EXPECT_GT(apart, kPairs / 20);
}

// A draw of the property above whose clients meet at FIFO ports. Most have their parameters back
// while they compute, and then push at one instant: the first through the ports is whose pass began
// first, not who had the parameters back first.
TEST(SameSystem, ClientsThatPushAtOneInstantTakeTurnsAlikeInAnEngine) {
  Json config = Json::parse(R"({
    "name": "drawn",
    "workload": {"layers": [[1041, 924, 91895], [551, 2365], [1800, 1700], [1925, 1335],
                            [1900, 2600], [573, 752, 183188, 2924763]]},
    "cluster": {"nodes": 5, "gpus_per_node": 3, "messages": {"ports": "fifo"},
                "network": {"type": "switch", "latency": "9 us", "bandwidth": "12.5 GB/s"},
                "intra_node": {"type": "switch", "latency": "6 us", "bandwidth": "7 GB/s"}},
    "strategy": {"aggregation": {"type": "parameter-server", "servers": 2,
                                 "requests": "pushpull", "update_cost": "0.2 ns/B"},
                 "update": {"type": "esgd", "interval": 2}, "schedule": {"type": "sync-easgd"}},
    "run": {"fidelity": "message"}})");
  const Result workers = simulate(drawn_experiment(config));
  config["strategy"]["embedding"] = without_host_costs({{"type", "naive"}});
  const Result engine = simulate(drawn_experiment(config));
  EXPECT_TRUE(are_within(kRounding, workers, engine))
      << workers.step_time_s << " s, " << engine.step_time_s << " s";
}

// With threads of its own or without: a call that hands a key over holds none.
TEST(SameSystem, AnEmbeddingWithoutHostCostsUnderAPolicyIsThatPolicy) {
  expect_wfbp_of({{"type", "naive"}}, any_policy);
}

}  // namespace
}  // namespace steptime
