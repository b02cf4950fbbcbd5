// What does a step in a framework's engine cost, with 161 keys at 256 ranks? The goal is 10 ms of
// wall time a step when all ranks are alike, and 20 ms when every rank is simulated.
#include "sim/config/data_dir.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "tests/bench/bare.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace steptime {
namespace {

Experiment resnet50(const std::string& embedding, double jitter, std::int64_t steps) {
  const auto document = std::make_shared<Document>(Document{
      (data_dir() / "bench.json").string(), parse_json(fmt::format(R"({{"name": "bench",
          "workload": {{"model": "mxnet/resnet-50-v1", "device": "p100", "batch": 32}},
          "cluster": {{"preset": "minsky", "nodes": 64}},
          "strategy": {{"embedding": {{"type": "{}", "jitter": {}}}}},
          "run": {{"steps": {}}}}})",
                                                                   embedding, jitter, steps),
                                                       "bench.json")});
  return read_experiment(document);
}

void measure(benchmark::State& state, const std::string& embedding, double jitter) {
  const Experiment e = resnet50(embedding, jitter, 1);
  std::int64_t steps = 0;
  for (auto unused : state) {
    (void)unused;
    steps += simulate(e).embedded->attribution.steps;
  }
  state.counters["s_per_step"] = benchmark::Counter(
      static_cast<double>(steps), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(measure, funnel, "funnel", 0.0);
BENCHMARK_CAPTURE(measure, concum, "concum", 0.0);
BENCHMARK_CAPTURE(measure, depcha, "depcha", 0.0);
BENCHMARK_CAPTURE(measure, funnel_every_rank, "funnel", 0.01);
BENCHMARK_CAPTURE(measure, depcha_every_rank, "depcha", 0.01);
BENCHMARK_CAPTURE(measure, concum_every_rank, "concum", 0.01);

/// What it costs to know where a step's time goes: "x", the least of several runs with causes over
/// the least without, taken in turn.
void engine_attribution(benchmark::State& state, const std::string& embedding, double jitter) {
  const Experiment e = resnet50(embedding, jitter, 1);
  double without = std::numeric_limits<double>::infinity();
  double with = without;
  for (auto unused : state) {
    (void)unused;
    without = std::min(without, least_seconds(1, [&] { simulate(e); }));
    with = std::min(with, least_seconds(1, [&] {
                      std::vector<SentBucket> buckets;
                      simulate(e, &buckets);
                    }));
  }
  state.counters["x"] = with / without;
}
BENCHMARK_CAPTURE(engine_attribution, funnel, "funnel", 0.0);
BENCHMARK_CAPTURE(engine_attribution, depcha, "depcha", 0.0);
BENCHMARK_CAPTURE(engine_attribution, funnel_every_rank, "funnel", 0.01);
BENCHMARK_CAPTURE(engine_attribution, depcha_every_rank, "depcha", 0.01);

}  // namespace
}  // namespace steptime
