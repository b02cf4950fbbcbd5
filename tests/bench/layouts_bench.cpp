// What does a point of a sweep over layouts cost, plan and step? The goals are 2 ms for 16 stages x
// 128 micro-batches x 8 chunks on 16,384 GPUs where exchanges do not meet, 20 s for 10,000 layouts
// on two threads, and 3 s for the 7.5 million messages of a pipeline of 128 GPUs.
#include "sim/config/data_dir.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/sweeps/point_runner.h"
#include "sim/sweeps/run_sweep.h"

#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace steptime {
namespace {

std::shared_ptr<const Document> document(const std::string& text) {
  return std::make_shared<Document>(
      Document{(data_dir() / "bench.json").string(), parse_json(text, "bench.json")});
}

/// Llama 3.1 405B, 126 layers on 128 stages: two of them have none.
std::shared_ptr<const Document> pipeline_of_16(int sequence, const std::string& strategy) {
  std::string stages;
  for (int stage = 0; stage < 128; ++stage)
    stages += fmt::format("{}{}", stage == 0 ? "" : ", ", stage == 20 || stage == 100 ? 0 : 1);
  return document(fmt::format(
      R"({{"name": "bench",
          "workload": {{"model": "llama3.1-405b", "device": "h100", "sequence": {}, "batch": 1,
                        "global_batch": 16384, "precision": "bfloat16", "dtype": "float32",
                        "optimizer": "adam"}},
          "cluster": {{"preset": "dgx-h100", "nodes": 2048, "gpus_per_node": 8}},
          "strategy": {{"aggregation": {{"type": "all-reduce", "collective": {{"type": "nccl"}}}},
                        "layout": {{"tensor": 8, "pipeline": 16, "sequence_parallel": true,
                                    "stages": [{}]}},
                        "pipeline_order": {{"type": "interleaved", "chunks": 8}}, {}}},
          "sweep": {{"/cluster/network/latency": ["2 us", "2.1 us"]}}}})",
      sequence, stages, strategy));
}

/// A point that differs from the one before in the network's latency, so that its layout is planned
/// anew.
void layout_point(benchmark::State& state, int sequence, const std::string& strategy) {
  const Sweep sweep(pipeline_of_16(sequence, strategy));
  for (auto unused : state) {
    (void)unused;
    state.PauseTiming();
    PointRunner fresh(sweep);  // a runner keeps the plans of points
    fresh.run(1);
    state.ResumeTiming();
    benchmark::DoNotOptimize(fresh.run(0));
  }
}
// With sequences of 8,192 a micro-batch and a gradient come to a rank's adapter at once, 0.5 ms
// long.
BENCHMARK_CAPTURE(layout_point, nothing_meets, 4096, R"("beside_compute": [])")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(layout_point, sums_meet_sends, 8192, R"("states": {"type": "zero", "stage": 1})")
    ->Unit(benchmark::kMillisecond);

void layout_sweep(benchmark::State& state) {
  const Sweep sweep(document(
      R"({"name": "bench",
          "workload": {"model": "llama3.1-70b", "device": "h100", "sequence": 8192, "batch": 1,
                       "global_batch": 1024, "precision": "bfloat16", "dtype": "float32",
                       "optimizer": "adam"},
          "cluster": {"preset": "dgx-h100", "nodes": 32, "gpus_per_node": 8},
          "strategy": {"aggregation": {"type": "all-reduce", "collective": {"type": "nccl"}},
                       "layout": {"tensor": 8, "pipeline": 4},
                       "states": {"type": "zero", "stage": 1},
                       "pipeline_order": {"type": "1f1b"}},
          "sweep": {"/strategy/layout/tensor": [1, 2, 4, 8],
                    "/strategy/layout/pipeline": [1, 2, 4, 8, 16],
                    "/strategy/pipeline_order": [{"type": "1f1b"}, {"type": "gpipe"},
                      {"type": "zb-h1"}, {"type": "interleaved", "chunks": 5}],
                    "/strategy/states": [{"type": "replicated"}, {"type": "zero", "stage": 1},
                      {"type": "zero", "stage": 2}, {"type": "zero", "stage": 3},
                      {"type": "fsdp"}],
                    "/workload/global_batch": [512, 1024, 1536, 2048, 4096],
                    "/cluster/nodes": [16, 32, 64, 128, 256]}})"));
  std::int64_t bytes = 0;
  for (auto unused : state) {
    (void)unused;
    run_sweep(sweep, {.threads = static_cast<int>(state.range(0)),
                      .on_row = [&](const SweepRow&, std::string_view line) {
                        bytes += static_cast<std::int64_t>(line.size());
                      }});
  }
  state.SetItemsProcessed(state.iterations() * sweep.points());
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(layout_sweep)->Arg(1)->Arg(2)->Iterations(1)->UseRealTime()->Unit(benchmark::kSecond);

/// One replica of 405B in messages: tensor 8, 16 stages, 128 micro-batches.
void layout_messages(benchmark::State& state) {
  const Experiment e = read_experiment(document(
      R"({"name": "bench",
          "workload": {"model": "llama3.1-405b", "device": "h100", "sequence": 8192, "batch": 1,
                       "global_batch": 128, "precision": "bfloat16", "dtype": "float32",
                       "optimizer": "adam"},
          "cluster": {"preset": "dgx-h100", "nodes": 16, "gpus_per_node": 8},
          "strategy": {"aggregation": {"type": "all-reduce", "collective": {"type": "ring"}},
                       "layout": {"tensor": 8, "pipeline": 16,
                                  "stages": [7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7]}},
          "run": {"fidelity": "message"}})"));
  double messages = 0;
  for (auto unused : state) {
    (void)unused;
    messages = static_cast<double>(simulate(e).messages);
  }
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  state.counters["messages"] = messages;
  state.counters["peak_MiB"] = static_cast<double>(use.ru_maxrss) / 1024;
}
BENCHMARK(layout_messages)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace steptime
