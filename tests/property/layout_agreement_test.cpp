// A layout of ones, with a copy of the model on every GPU, is the step without a layout: also where
// compute and collectives slow each other down, and in messages that meet nothing. Any layout that
// closed forms answer is answered in messages, too.
#include "sim/core/error.h"
#include "tests/support/drawn_layout.h"
#include "tests/support/simulated.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// Of one to six layers, with up to three tensors each.
Json drawn_trace() {
  Json trace = Json::parse(kTinyTrace);
  Json& layers = trace["layers"] = Json::array();
  const std::int32_t count = any(1, 6);
  for (std::int32_t l = 0; l < count; ++l) {
    Json layer{{"name", fmt::format("layer {}", l)},
               {"forward_s", any(l == 0 ? 1 : 0, 9'999) * 1e-6},
               {"backward_s", any(0, 9'999) * 1e-6}};
    const std::int32_t tensors = any(l == 0 ? 1 : 0, 3);
    for (std::int32_t t = 0; t < tensors; ++t) {
      layer["tensors"].push_back(
          {{"name", fmt::format("{}.{}", l, t)}, {"params", any(1, 3'000'000)}});
    }
    layers.push_back(std::move(layer));
  }
  return trace;
}

std::string drawn_collective() {
  return *rc::gen::element<std::string>(
      R"({"type": "ring"})", R"({"type": "linear", "a": "137 us", "b": "0.7 ns/B"})",
      R"({"type": "recursive-doubling"})", R"({"type": "halving-doubling"})",
      R"({"type": "double-binary-tree"})");
}

std::string drawn_schedule() {
  return *rc::gen::element<std::string>(
      R"({"type": "wfbp"})", R"({"type": "wfbp", "granularity": "layer"})",
      R"({"type": "fixed-buckets", "capacity": "5 MB"})",
      R"({"type": "fixed-buckets", "capacity": "9 MB", "first_capacity": "1 MB"})",
      R"({"type": "sync-easgd"})", R"({"type": "mg-wfbp"})",
      R"({"type": "mg-wfbp", "granularity": "layer"})", R"({"type": "optimal"})");
}

/// What compute and collectives cost each other.
void draw_overlap(Json& config) {
  config["workload"]["overlap"] = Json::parse(*rc::gen::element<std::string>(
      R"({"type": "none"})", R"({"type": "factors", "compute": 1.31})",
      R"({"type": "factors", "collective": 1.77})",
      R"({"type": "factors", "compute": 1.189, "collective": 1.4})",
      R"({"type": "multiprocessors", "blocks": 17, "multiprocessors": 108})"));
  if (either()) return;
  config["cluster"]["gpus_per_node"] = 1 << any(1, 2);
  config["cluster"]["intra_node"] = {
      {"type", "switch"}, {"latency", "3 us"}, {"bandwidth", "7 GB/s"}};
  config["cluster"]["intra_node_beside_kernels"] = 1 + any(0, 3);
}

Json drawn_config(const TinyFolder& folder) {
  folder.write("trace.json", drawn_trace().dump());
  Json config = Json::parse(kTinyExperiment);
  config["workload"]["accumulate"] = any(1, 8);
  config["cluster"]["nodes"] = 1 << any(1, 4);
  config["strategy"]["aggregation"]["collective"] = Json::parse(drawn_collective());
  config["strategy"]["schedule"] = Json::parse(drawn_schedule());
  draw_overlap(config);
  return config;
}

Result result_of(const TinyFolder& folder, const Json& config) {
  return simulate(read_experiment(load_document(folder.write("x.json", config.dump()), {})));
}

RC_GTEST_PROP(LayoutAgreement, ALayoutOfOnesIsTheStepWithoutOne, ()) {
  const TinyFolder folder;
  Json config = drawn_config(folder);
  const Result today = result_of(folder, config);
  config["strategy"]["layout"] = Json::object();
  const Result layout = result_of(folder, config);
  RC_ASSERT(layout.step_time_s == today.step_time_s);
  RC_ASSERT(layout.compute_time_s == today.compute_time_s);
  RC_ASSERT(layout.comm_busy_s == today.comm_busy_s);
  RC_ASSERT(layout.exposed_comm_s == today.exposed_comm_s);
  RC_ASSERT(layout.messages == today.messages);
  RC_ASSERT(layout.throughput_samples_per_s == today.throughput_samples_per_s);
}

// Each message is rounded to a picosecond. A layout counts messages where a step without one counts
// all-reduces, and says of their time what closed forms do.
RC_GTEST_PROP(LayoutAgreement, ALayoutOfOnesIsTheStepWithoutOneInMessages, ()) {
  const TinyFolder folder;
  Json config = drawn_config(folder);
  RC_PRE(config["strategy"]["aggregation"]["collective"]["type"] != "linear");
  RC_PRE(!config["cluster"].contains("intra_node"));
  config["run"]["fidelity"] = "message";
  config["cluster"]["nodes"] = 1 << any(1, 3);  // whose messages grow with their square
  const Result today = result_of(folder, config);
  config["strategy"]["layout"] = Json::object();
  const Result layout = result_of(folder, config);
  const double rounding = 1e-12 * static_cast<double>(layout.messages);
  RC_ASSERT(std::abs(layout.step_time_s - today.step_time_s) <= rounding);
  RC_ASSERT(std::abs(layout.exposed_comm_s - today.exposed_comm_s) <= rounding);
  RC_ASSERT(layout.compute_time_s == today.compute_time_s);
}

/// Four blocks that up to four tensor and four context ranks share.
constexpr const char* kShape = R"({
  "format": "steptime-transformer", "version": 1, "name": "small", "aliases": [],
  "provenance": {"source": "made up", "licence": "none", "date": "2026-11-28"},
  "layers": 4, "hidden": 192, "heads": 48, "kv_heads": 48, "head_dim": 4, "ffn": 384,
  "gated": false, "vocabulary": 96, "tied": true, "norms": "layer", "biases": true,
  "dropout": false, "positions": 0})";

/// States that so many ranks share, in parts of any size.
Json drawn_states(std::int64_t sharers) {
  const std::int32_t stage = any(0, 5);
  if (stage == 0) return {{"type", "replicated"}};
  if (stage <= 3) {
    Json zero{{"type", "zero"}, {"stage", stage}};
    if (stage == 3) zero["share_of_adapters"] = any(1, 4) / 4.;
    return zero;
  }
  std::int64_t shards = 1;
  do
    shards = any(1, static_cast<std::int32_t>(sharers));
  while (sharers % shards != 0);
  return {{"type", "fsdp"},
          {"units", any(1, 2)},
          {"reshard", either()},
          {"prefetch", *rc::gen::element<std::string>("backward", "forward", "none")},
          {"gathers", any(1, 3)},
          {"shard_group", shards}};
}

Json drawn_order(std::int64_t places, Json& workload) {
  workload["accumulate"] = any(1, 4);
  const auto order = places == 1
                         ? std::string("gpipe")
                         : *rc::gen::element<std::string>("gpipe", "1f1b", "interleaved", "zb-h1");
  if (order != "interleaved") return {{"type", order}};
  workload["accumulate"] = places * any(1, 2);
  return {{"type", order}, {"chunks", 4 / places}};
}

/// Of at most 96 ranks, on nodes of any size that divides them.
Json drawn_layout() {
  const std::int64_t tensor = any(1, 3);
  const std::int64_t context = any(1, 4);
  const std::int64_t data = any(1, 4);
  const std::int64_t places = any(1, 2);
  const std::int64_t ranks = tensor * context * data * places;
  std::int64_t gpus = 1;
  do
    gpus = any(1, static_cast<std::int32_t>(std::min<std::int64_t>(ranks, 8)));
  while (ranks % gpus != 0);
  Json config = Json::parse(R"({
    "name": "drawn", "workload": {"model": "shape.json", "device": "a100", "batch": 1,
    "sequence": 144}, "run": {}, "cluster": {"gpus": {"links": "pcie", "link_bandwidth": "9 GB/s",
    "compute_capability": 80}, "intra_node": {"type": "switch", "latency": "2 us",
    "bandwidth": "9 GB/s"}, "network": {"type": "switch", "latency": "5 us",
    "bandwidth": "1.7 GB/s"}}})");
  config["cluster"]["nodes"] = ranks / gpus;
  config["cluster"]["gpus_per_node"] = gpus;
  config["cluster"]["gpus"]["nics"] = any(1, 8);
  std::vector<std::string> dimensions{"tensor", "context", "data", "pipeline"};
  for (std::size_t i = dimensions.size() - 1; i > 0; --i)
    std::swap(dimensions[i], dimensions[static_cast<std::size_t>(any(0, static_cast<int>(i)))]);
  Json layout{{"tensor", tensor},
              {"context", context},
              {"pipeline", places},
              {"order", fmt::format("{}", fmt::join(dimensions, "-"))}};
  if (tensor > 1) layout["sequence_parallel"] = either();
  Json beside = Json::array();
  for (const char* what :
       {"gradients", "weights", "tensor", "input-gradients", "pipeline", "context"}) {
    if (either()) beside.push_back(what);
  }
  config["strategy"] = {
      {"layout", layout},
      {"states", drawn_states(context * data)},
      {"pipeline_order", drawn_order(places, config["workload"])},
      {"recompute", {{"type", *rc::gen::element<std::string>("none", "selective", "full")}}},
      {"context_exchange",
       {{"type", *rc::gen::element<std::string>("ring", "all-gather", "ulysses")}}},
      {"beside_compute", beside},
      {"aggregation", {{"type", "all-reduce"}, {"collective", "ring"}}}};
  return config;
}

struct Answer {
  std::optional<Result> result;
  std::string error;
};

Answer answer_of(const TinyFolder& folder, Json config, const char* fidelity) {
  config["run"]["fidelity"] = fidelity;
  try {
    return {result_of(folder, config), ""};
  } catch (const InputError& e) {
    return {std::nullopt, e.what()};
  }
}

// What closed forms refuse messages refuse, for the same reason. The last rank computes as long,
// where it is of the same place of a pipeline, and neither it nor a replica alone ends before that.
RC_GTEST_PROP(LayoutAgreement, MessagesAnswerAsClosedFormsDo, ()) {
  const TinyFolder folder;
  folder.write("shape.json", kShape);
  const Json config = drawn_layout();
  const Answer closed = answer_of(folder, config, "analytic");
  const Answer messages = answer_of(folder, config, "message");
  RC_ASSERT(messages.error == closed.error);
  RC_CLASSIFY(!closed.result, "refused");
  if (!closed.result) return;
  if (config["strategy"]["layout"]["pipeline"] == 1)
    RC_ASSERT(messages.result->compute_time_s == closed.result->compute_time_s);
  for (const Result* result : {&*closed.result, &*messages.result}) {
    RC_ASSERT(result->step_time_s >= result->compute_time_s);
    RC_ASSERT(result->scaling_efficiency * result->step_time_s >= result->compute_time_s * .999);
  }
}

}  // namespace
}  // namespace steptime
