// From a config to the plan of its step: what is refused, and that a layout of ones is no other
// step than without a layout.
#include "sim/layouts/plan_layout.h"

#include "sim/config/json.h"
#include "sim/core/error.h"
#include "tests/support/simulated.h"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string with_strategy(const std::string& strategy, const std::string& more = "") {
  return fmt::format(R"({{"strategy": {{{}}}{}}})", strategy, more);
}

std::string error_of(const std::string& patch) {
  const TinyFolder folder;
  try {
    tiny_experiment(folder, patch);
  } catch (const InputError& e) {
    const std::string text = e.what();
    return text.substr(text.find(": /") + 2);
  }
  return "";
}

// Four GPUs with a copy of the model each: the same trace, buckets and micro-batches, to the
// picosecond.
TEST(PlanLayout, ALayoutOfOnesIsTodaysStep) {
  const TinyFolder folder;
  for (const char* schedule : {"wfbp", "sync-easgd", "mg-wfbp"}) {
    for (const int micro_batches : {1, 3}) {
      const std::string workload =
          fmt::format(R"(, "workload": {{"accumulate": {}, "overlap": "none"}})", micro_batches);
      const std::string stated = fmt::format(R"("schedule": {{"type": "{}"}})", schedule);
      const Result today = simulate(tiny_experiment(folder, with_strategy(stated, workload)));
      const Result layout = simulate(tiny_experiment(
          folder, with_strategy(stated + R"(, "layout": {"tensor": 1})", workload)));
      EXPECT_EQ(layout.step_time_s, today.step_time_s) << schedule << " " << micro_batches;
      EXPECT_EQ(layout.compute_time_s, today.compute_time_s);
      EXPECT_EQ(layout.exposed_comm_s, today.exposed_comm_s);
      EXPECT_EQ(layout.comm_busy_s, today.comm_busy_s);
      EXPECT_EQ(layout.messages, today.messages);
    }
  }
}

// fc.b goes from 20 on for 1.5 x 1.004 = 1.506 ms, fc.w for 1.5 x 5 = 7.5 ms, to 29.006. Of the
// backward pass, which would end at 42, half of these 9.006 ms are done by then: it ends at 46.503,
// and conv takes 2 ms behind it.
TEST(PlanLayout, ALayoutOfOnesPaysForOverlapAsTodaysStepDoes) {
  const TinyFolder folder;
  const std::string workload =
      R"(, "workload": {"overlap": {"type": "factors", "compute": 2, "collective": 1.5}})";
  const Result today = simulate(tiny_experiment(folder, with_strategy("", workload)));
  const Result layout =
      simulate(tiny_experiment(folder, with_strategy(R"("layout": {})", workload)));
  EXPECT_EQ(layout.step_time_s, 0.048503);
  EXPECT_EQ(layout.step_time_s, today.step_time_s);
  EXPECT_EQ(layout.comm_busy_s, today.comm_busy_s);
  EXPECT_EQ(layout.compute_time_s, 0.042);
}

// A kvstore of one GPU has neither clients nor servers, and no collective either.
TEST(PlanLayout, RefusesAKvstoreOfOneGpu) {
  EXPECT_EQ(error_of(R"({"cluster": {"nodes": 1},
                         "strategy": {"layout": {}, "aggregation": {"type": "kvstore",
                                                                    "collective": null}}})"),
            "/strategy/aggregation: with a layout all groups use collectives; expected {\"type\": "
            "\"all-reduce\"}");
}

TEST(PlanLayout, WhatIsNotStatedIsAsItsOwnFileSays) {
  EXPECT_EQ(with_layout_defaults(Json{{"layout", Json::object()}}), parse_json(R"({"layout": {},
                           "states": {"type": "replicated"},
                           "pipeline_order": {"type": "1f1b"},
                           "recompute": {"type": "none"},
                           "context_exchange": {"type": "ring"},
                           "beside_compute": ["gradients", "weights", "pipeline-by-order",
                                              "context"]})",
                                                                               "defaults"));
  EXPECT_EQ(with_layout_defaults(Json::object()), Json::object());
}

TEST(PlanLayout, KeysOfALayoutNeedOne) {
  EXPECT_EQ(error_of(with_strategy(R"("states": "zero")")),
            "/strategy/states: expected a \"layout\" beside it");
}

TEST(PlanLayout, RefusesPartsThatKnowNoLayouts) {
  const std::string layout = R"("layout": {}, )";
  EXPECT_EQ(
      error_of(with_strategy(layout + R"("update": {"type": "local-sgd", "interval": 2})")),
      "/strategy/update: with a layout gradients are summed up; expected {\"type\": \"sgd\"}");
  EXPECT_EQ(
      error_of(with_strategy(layout + R"("schedule": "priority")")),
      "/strategy/schedule: decides while the step runs, which a layout's ranks do not ask for; "
      "expected one that plans beforehand");
  EXPECT_EQ(error_of(with_strategy(layout + R"("embedding": "funnel")")),
            "/strategy/embedding: unexpected with a layout; expected {\"type\": \"async\"}");
  EXPECT_EQ(error_of(with_strategy(R"("layout": {})", R"(, "run": {"variation": {"seeds": 2}})")),
            "/run/variation/seeds: unexpected with a layout, whose step is the expected one of all "
            "seeds; expected 1");
}

// Of two normal numbers the larger one is expected 1 / sqrt(pi) standard deviations above the mean,
// of one none; the optimizer of a trace takes no time.
TEST(PlanLayout, RanksComputeAsLongAsTheSlowestIsExpectedTo) {
  const TinyFolder folder;
  const std::string two = R"(, "cluster": {"nodes": 2})";
  const Result alike = simulate(tiny_experiment(folder, with_strategy(R"("layout": {})", two)));
  const Result differ = simulate(tiny_experiment(
      folder,
      with_strategy(R"("layout": {})", two + R"(, "run": {"variation": {"spread": 0.1}})")));
  const double slowest = 1 + 0.1 / std::sqrt(std::acos(-1.));
  EXPECT_NEAR(differ.compute_time_s, alike.compute_time_s * slowest, 1e-9);
  // The step of a replica alone, of one rank, is as long as it was.
  EXPECT_NEAR(differ.scaling_efficiency * differ.step_time_s,
              alike.scaling_efficiency * alike.step_time_s, 2e-12);
}

// What is named is an all-reduce's time.
TEST(PlanLayout, RefusesACollectiveWithoutTheOperationsThatStatesNeed) {
  EXPECT_EQ(error_of(with_strategy(R"("layout": {}, "states": {"type": "zero", "stage": 2})")),
            "/strategy/aggregation/collective: \"linear\" has no reduce-scatter of its own, which "
            "the states of this layout need; expected one that has: nccl, ring");
  EXPECT_EQ(error_of(with_strategy(R"("layout": {}, "states": "replicated")")), "");
  EXPECT_EQ(error_of(with_strategy(R"("layout": {}, "states": "fsdp",
      "aggregation": {"type": "all-reduce", "collective": null})")),
            "");
}

TEST(PlanLayout, RefusesMorePassesAndExchangesThanCanBePlayed) {
  EXPECT_EQ(error_of(with_strategy(R"("layout": {})", R"(, "workload": {"accumulate": 100000})")),
            "");
  EXPECT_EQ(
      error_of(with_strategy(R"("layout": {})", R"(, "workload": {"global_batch": 11520000000})")),
      "/workload/global_batch: a rank of each place of the pipeline makes about 2e+08 passes "
      "and exchanges in a step, expected 5e+07 at most; larger micro-batches are fewer");
}

// A million nodes of 80 GPUs would take a minute.
TEST(PlanLayout, RefusesMoreRanksThanCanBeLookedAt) {
  EXPECT_EQ(error_of(with_strategy(R"("layout": {})", R"(, "cluster": {"nodes": 5000000})")),
            "/strategy/layout: found 5000000 ranks, expected at most 4000000");
}

TEST(PlanLayout, ATraceCannotBeCut) {
  EXPECT_EQ(
      error_of(with_strategy(R"("layout": {"tensor": 2})")),
      "/strategy/layout/tensor: a trace does not say what its layers send each other; expected "
      "1, or a \"model\" in its place");
}

TEST(PlanLayout, TheTimesOfAShapeFollowFromItsSizes) {
  EXPECT_EQ(error_of(with_strategy(R"("layout": {})", R"(, "workload": {
                "trace": null, "model": "llama-2-7b", "device": "h100", "batch": 1,
                "sequence": 128, "compute_time": "5 s"})")),
            "/workload/compute_time: unexpected with the shape of a transformer, whose operators' "
            "times follow from its sizes and the device");
}

TEST(PlanLayout, RefusesWhatNothingTravelsBeside) {
  for (const auto& [stated, found] : {std::pair{"5", "5"},
                                      {R"("gradients")", "\"gradients\""},
                                      {R"({"weights": 1})", "an object"}}) {
    EXPECT_EQ(
        error_of(with_strategy(fmt::format(R"("layout": {{}}, "beside_compute": {})", stated))),
        fmt::format("/strategy/beside_compute: found {}, expected a list of some of gradients, "
                    "weights, tensor, input-gradients, pipeline, pipeline-by-order, context",
                    found));
  }
  EXPECT_EQ(error_of(with_strategy(R"("layout": {}, "beside_compute": ["gradients", "hope"])")),
            "/strategy/beside_compute: unknown \"hope\"; known: gradients, weights, tensor, "
            "input-gradients, pipeline, pipeline-by-order, context");
  EXPECT_EQ(
      error_of(with_strategy(R"("layout": {}, "states": {"type": "fsdp", "shard_group": 3})")),
      "/strategy/states: found shard groups of 3, expected a divisor of the 4 ranks that hold the "
      "same parameters");
  EXPECT_EQ(error_of(with_strategy(
                R"("layout": {}, "recompute": {"type": "full", "layers": [0, 1000]})")),
            "/strategy/recompute: found layer 1000, expected numbers up to 2, the last of the "
            "model");
  EXPECT_EQ(error_of(with_strategy(R"("layout": {}, "states": "fsdp", "schedule": "wfbp")")),
            "/strategy/schedule: unexpected, as units of the states are the buckets");
}

// A fat tree has as many links on every level as hosts; the link between two leaves with two nodes
// each carries two messages at once.
TEST(PlanLayout, ClosedFormsKnowFabricsThatAreLikeASwitch) {
  const auto layout = [](const std::string& fabric, const std::string& more = "") {
    return error_of(with_strategy(R"("layout": {"tensor": 1})",
                                  R"(, "cluster": {"fabric": )" + fabric + "}" + more));
  };
  const auto graph = [](const std::string& bandwidth) {
    return R"({"type": "graph", "vertices": [{"name": "a", "ports": 2}, {"name": "b", "ports": 2}],
               "links": [{"ends": ["a", "b"], "bandwidth": ")" +
           bandwidth + "\"}]}";
  };
  EXPECT_EQ(layout(R"({"type": "fat-tree", "radix": 4})"), "");
  EXPECT_EQ(layout(graph("2 GB/s")), "");
  EXPECT_EQ(layout(graph("1.9 GB/s")),
            "/cluster/fabric: found one whose links between switches delay messages or slow them "
            "down, expected one like a switch, or \"message\" under /run/fidelity, as closed forms "
            "of layouts know no other");
}

}  // namespace
}  // namespace steptime
