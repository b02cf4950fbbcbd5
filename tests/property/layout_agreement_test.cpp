// A layout of ones, with a copy of the model on every GPU, is the step without a layout: also where
// compute and collectives slow each other down, and in messages that meet nothing.
#include "tests/support/drawn_layout.h"
#include "tests/support/simulated.h"

#include <cmath>
#include <string>

#include <fmt/format.h>
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

}  // namespace
}  // namespace steptime
