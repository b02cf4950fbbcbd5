// The same system gives the same answer, whichever way it is said: pairs of configs that describe
// one system, drawn at random. The seed is another one in each run, and printed;
// STEPTIME_SEED=<seed> in the environment draws the same ones again.
#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/experiment/simulate.h"
#include "sim/experiment/training_run.h"
#include "sim/training/play.h"
#include "tests/support/drawn_experiments.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr int kPairs = 250;
constexpr double kHalfAPicosecond = 0.5e-12;

using Pair = std::pair<Json, Json>;

double cold_of(const Result& r) {
  return r.cold_step_time_s.value_or(r.step_time_s);
}

double half_a_picosecond(const Json&, const Result&) {
  return kHalfAPicosecond;
}

/// Both give one number, cold and steady; where they are less than `within` apart. At most one pair
/// in ten may be refused.
void expect_the_same(
    const std::string& what, const std::function<Pair(ExperimentDraw&)>& draw,
    const std::function<Result(const Experiment&)>& second = {},
    const std::function<double(const Json&, const Result&)>& within = half_a_picosecond) {
  constexpr int kMostShown = 3;
  int played = 0;
  int refused = 0;
  int different = 0;
  for (std::uint32_t i = 0; played < kPairs && refused <= kPairs; ++i) {
    ExperimentDraw drawn(i, seed_of_the_run());
    const auto [a, b] = draw(drawn);
    try {
      const Result x = simulate(drawn_experiment(a));
      const Experiment other = drawn_experiment(b);
      const Result y = second ? second(other) : simulate(other);
      ++played;
      const double most = within(a, x);
      const bool is_same = std::abs(x.step_time_s - y.step_time_s) < most &&
                           std::abs(cold_of(x) - cold_of(y)) < most;
      if (is_same || ++different > kMostShown) continue;
      ADD_FAILURE() << what << ", draw " << i << ":\n  " << a.dump() << "\ngives "
                    << fmt::format("{} s, cold {} s", x.step_time_s, cold_of(x)) << ", but\n  "
                    << b.dump() << "\ngives "
                    << fmt::format("{} s, cold {} s", y.step_time_s, cold_of(y));
    } catch (const InputError&) {
      ++refused;
    }
  }
  fmt::print("{}: seed {}, {} pairs, {} draws refused\n", what, seed_of_the_run(), played, refused);
  EXPECT_EQ(different, 0) << "of " << played << " pairs, " << what;
  EXPECT_EQ(played, kPairs) << what;
  EXPECT_LE(10 * refused, played + refused) << what;
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
    servers["requests"] = draw.of({"push-pull", "pushpull", "early-pull"});
    servers.erase("pull_order");
    servers.erase("sharding");  // which may cut the one bucket into several
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
      [](const Json& config, const Result& r) {
        const auto ranks = config["cluster"]["nodes"].get<double>();
        const auto cluster = drawn_experiment(config).cluster;
        const double byte = 1 / cluster->network.bandwidth.bytes_per_second;
        const double chain = (ranks - 1) * (2 * byte + cluster->reduction.seconds_per_byte);
        return kHalfAPicosecond + static_cast<double>(r.messages) * chain;
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
          const Json config = any_of_group(draw, group.name, "", [&](Json& drawn) {
            if (group.name == "embedding" && draw.one_in(2)) add_costs_of_overlap(draw, drawn);
          });
          return Pair{config, config};
        },
        by_programs);
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

/// In MXNet's engine, `embedding` with keys backward, as async sends its buckets.
/// With keys in the order of the backward pass.
Json without_host_costs(Json embedding) {
  // So fast that no copy takes half a picosecond.
  for (const char* free : {"python_call", "engine_push", "wake_up", "copy_latency"})
    embedding[free] = "0 s";
  embedding["key_order"] = "backward";
  embedding["copy_bandwidth"] = "1e12 GB/s";
  return embedding;
}

void expect_wfbp_of(
    Json embedding, const std::function<Json(ExperimentDraw&)>& when = [](ExperimentDraw&) {
      return Json{{"schedule", {{"type", "wfbp"}}}};
    }) {
  embedding = without_host_costs(std::move(embedding));
  expect_the_same(fmt::format("{} = async", embedding.dump()), [&](ExperimentDraw& draw) {
    Json config = any_config(draw, "all-reduce", false);
    if (draw.one_in(2)) add_costs_of_overlap(draw, config);
    Json strategy = when(draw);
    strategy["aggregation"] = {{"type", "all-reduce"}, {"collective", draw.collective()}};
    Json other = strategy;
    other["embedding"] = embedding;
    return with_strategies(config, strategy, other);
  });
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

// The first layer of each model that is drawn has parameters.
TEST(SameSystem, EmbeddingsOfOneThreadWithoutHostCostsAreWfbp) {
  expect_wfbp_of({{"type", "depcha"}, {"threads", 1}});
  expect_wfbp_of({{"type", "naive"}, {"threads", 1}});
}

// By way of servers, each worker or each group of workers a client. The first worker's step is the
// engine's; that of the run is the last one's.
TEST(SameSystem, AnEmbeddingWithoutHostCostsMeetsServersAsWorkersDo) {
  for (const char* type : {"funnel", "naive"}) {
    Json embedding = without_host_costs({{"type", type}});
    if (embedding["type"] == "naive") embedding["threads"] = 1;
    expect_the_same(fmt::format("{} = async, servers", type), [&](ExperimentDraw& draw) {
      const std::string group = draw.of({"parameter-server", "hybrid"});
      Json config = any_config(draw, group, false);
      if (draw.one_in(2)) add_costs_of_overlap(draw, config);
      Json aggregation = draw.servers();
      aggregation["type"] = group;
      if (group == "hybrid") draw.add_clients(aggregation, config["cluster"]);
      if (aggregation.value("requests", "") == "next-step") {
        aggregation["requests"] = "push-pull";
        aggregation.erase("pull_order");
      }
      const Json strategy{{"aggregation", aggregation}, {"schedule", {{"type", "wfbp"}}}};
      Json other = strategy;
      other["embedding"] = embedding;
      return with_strategies(config, strategy, other);
    });
  }
}

// With threads of its own or without: a call that hands a key over holds none.
TEST(SameSystem, AnEmbeddingWithoutHostCostsUnderAPolicyIsThatPolicy) {
  expect_wfbp_of({{"type", "naive"}}, any_policy);
}

}  // namespace
}  // namespace steptime
