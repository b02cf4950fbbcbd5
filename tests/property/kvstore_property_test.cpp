// A kvstore without servers is one system, whoever is asked for it: as an aggregation at both
// fidelities and by the Module API with free calls, over random models and nodes.
#include "sim/core/random.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/seed.h"
#include "tests/support/tiny_experiment.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr int kConfigs = 250;

class Draw {
 public:
  Draw(std::int64_t seed, std::uint32_t config) : random_(seed, Purpose::kTest), config_(config) {}
  double uniform() { return random_.uniform(config_, drawn_++, 0); }
  std::int64_t from(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform() * static_cast<double>(high - low + 1));
  }
  /// Over some orders of magnitude.
  double between(double low, double high) { return low * std::pow(high / low, uniform()); }
  std::string one_of(const std::vector<std::string>& words) {
    return words[static_cast<std::size_t>(from(0, std::ssize(words) - 1))];
  }

 private:
  RandomStream random_;
  std::uint32_t config_;
  std::uint32_t drawn_ = 0;
};

Json any_trace(Draw& draw) {
  Json trace = Json::parse(kTinyTrace);
  trace["layers"] = Json::array();
  const std::int64_t layers = draw.from(1, 8);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    Json tensors = Json::array();
    for (std::int64_t t = draw.from(layer == 0 ? 1 : 0, 2); t > 0; --t) {
      tensors.push_back({{"name", fmt::format("w{}.{}", layer, t)},
                         {"params", std::llround(draw.between(10, 5e6))}});
    }
    trace["layers"].push_back({{"name", fmt::format("l{}", layer)},
                               {"forward_s", draw.between(1e-6, 3e-3)},
                               {"backward_s", draw.between(1e-6, 6e-3)},
                               {"tensors", tensors}});
  }
  return trace;
}

Json any_cluster(Draw& draw) {
  const std::string reduction = fmt::format("{} ns/B", draw.between(0.001, 0.5));
  if (draw.from(0, 2) == 0)
    return {{"preset", "p3.16xlarge"}, {"nodes", 1}, {"reduction", reduction}};
  const Json link{{"type", "switch"},
                  {"latency", fmt::format("{} us", draw.from(0, 50))},
                  {"bandwidth", fmt::format("{} GB/s", draw.between(0.5, 20))}};
  return {{"nodes", 1},
          {"gpus_per_node", draw.from(2, 9)},
          {"network", link},
          {"intra_node", link},
          {"reduction", reduction}};
}

struct Played {
  Result result;
  std::vector<SentBucket> buckets;
};

Played play(const TinyFolder& folder, const Json& config) {
  Played played;
  played.result = simulate(
      read_experiment(load_document(folder.write("x.json", config.dump()), {})), &played.buckets);
  return played;
}

/// Whose own costs are nothing.
Json free_module() {
  return {{"type", "module"},
          {"python_call", "0 s"},
          {"engine_push", "0 s"},
          {"wake_up", "0 s"},
          {"gpu_operation", "0 s"}};
}

/// As an aggregation at both fidelities, and by Module, whose own costs are nothing.
void expect_one_system(const TinyFolder& folder, Json config) {
  SCOPED_TRACE(config.dump());
  config["strategy"]["embedding"] = "async";
  config["run"]["fidelity"] = "analytic";
  const Played analytic = play(folder, config);
  config["run"]["fidelity"] = "message";
  const Played messages = play(folder, config);
  config["strategy"]["embedding"] = free_module();
  const Played module = play(folder, config);
  for (const Played* other : {&messages, &module}) {
    ASSERT_EQ(other->result.step_time_s, analytic.result.step_time_s);
    ASSERT_EQ(other->result.cold_step_time_s, analytic.result.cold_step_time_s);
    ASSERT_EQ(other->buckets.size(), analytic.buckets.size());
    for (std::size_t b = 0; b < analytic.buckets.size(); ++b)
      ASSERT_EQ(other->buckets[b].end_s, analytic.buckets[b].end_s) << b;
  }
  ASSERT_GT(*analytic.result.cold_step_time_s, analytic.result.compute_time_s);
}

/// Keys of 4 B to 411 MB, on the cube mesh of NVLinks.
TEST(KvstoreProperty, VggAndResNetAreOneSystemOnAP3) {
  const TinyFolder folder;
  for (const char* model : {"mxnet/vgg16", "mxnet/resnet-50-v1"}) {
    for (const char* merge : {"device", "local"}) {
      expect_one_system(
          folder,
          {{"name", "one"},
           {"workload", {{"model", model}, {"device", "v100"}, {"batch", 32}}},
           {"cluster", {{"preset", "p3.16xlarge"}, {"nodes", 1}}},
           {"strategy",
            {{"aggregation", {{"type", "kvstore"}, {"merge", merge}, {"priority", "first-key"}}},
             {"schedule", {{"type", "wfbp"}}}}}});
    }
  }
}

/// One key through servers, where what comes first of several keys is no question, sums cost
/// nothing, as those of a GPU are other kernels, and nodes are alike: messages share ports, and
/// servers have nodes of their own. A node that has its values before others begins its next step,
/// whose messages meet those of this one; the Module API's first step is told without the next one.
TEST(KvstoreProperty, OneKeyThroughServersIsOneSystemToo) {
  const std::int64_t seed = seed_of_the_run();
  for (std::uint32_t i = 0; i < kConfigs; ++i) {
    Draw draw(seed, 1'000'000 + i);
    const TinyFolder folder;
    Json trace = any_trace(draw);
    trace["layers"] = Json::array({trace["layers"][0]});
    trace["layers"][0]["tensors"] = Json::array({trace["layers"][0]["tensors"][0]});
    folder.write("trace.json", trace.dump());
    const auto link = [&draw] {
      return Json{{"type", "switch"},
                  {"latency", fmt::format("{} us", draw.from(0, 50))},
                  {"bandwidth", fmt::format("{} GB/s", draw.between(0.5, 20))}};
    };
    Json config{{"name", "one"},
                {"workload", {{"trace", "trace.json"}}},
                {"cluster",
                 {{"nodes", draw.from(1, 5)},
                  {"gpus_per_node", draw.from(1, 5)},
                  {"network", link()},
                  {"intra_node", link()}}},
                {"strategy",
                 {{"aggregation",
                   {{"type", "kvstore"},
                    {"servers", draw.from(1, 4)},
                    {"merge", draw.one_of({"device", "local"})},
                    {"priority", "first-key"}}},
                  {"transport", draw.one_of({"mpi", "ps-lite"})},
                  {"update", draw.one_of({"sgd", "asgd"})},
                  {"schedule", "wfbp"}}},
                {"run", {{"fidelity", "message"}}}};
    SCOPED_TRACE(config.dump());
    const Result workers = play(folder, config).result;
    config["strategy"]["embedding"] = free_module();
    const Result module = play(folder, config).result;
    const double cold = *module.cold_step_time_s;
    if (config["strategy"]["update"] == "sgd") {
      ASSERT_EQ(cold, workers.cold_step_time_s);
    } else if (config["strategy"]["aggregation"]["merge"] == "local") {
      ASSERT_NEAR(cold, *workers.cold_step_time_s, 1e-9 * cold);  // means of several
    } else {  // the GPU that adds up has its values first, and workers' steps are told of each
      ASSERT_LE(*workers.cold_step_time_s, cold + 1e-9 * cold);
      continue;
    }
    ASSERT_NEAR(module.step_time_s, workers.step_time_s, 1e-6 * workers.step_time_s);
    ASSERT_GT(*module.cold_step_time_s, module.compute_time_s);
  }
}

TEST(KvstoreProperty, IsOneSystemHoweverItIsPlayed) {
  const std::int64_t seed = seed_of_the_run();
  for (std::uint32_t i = 0; i < kConfigs; ++i) {
    Draw draw(seed, i);
    const TinyFolder folder;
    folder.write("trace.json", any_trace(draw).dump());
    expect_one_system(folder,
                      {{"name", "one"},
                       {"workload", {{"trace", "trace.json"}}},
                       {"cluster", any_cluster(draw)},
                       {"strategy",
                        {{"aggregation",
                          {{"type", "kvstore"},
                           {"merge", draw.one_of({"device", "local"})},
                           {"priority", "first-key"},
                           {"copy_threads", draw.from(1, 4)},
                           {"threads", draw.from(1, 5)}}},
                         {"schedule", draw.one_of({"wfbp", "wfbp", "naive", "sync-easgd"})}}}});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace steptime
