// What does a step of many asynchronous workers cost? The goal is 10 s for 1,000 workers, 100
// servers and 100 steps. A worker's step has 100 messages to servers in one bucket (sync-easgd) and
// 1,350 or so with one bucket per tensor (wfbp), as the big tensors of ResNet-50 are on all
// servers.
#include "sim/config/data_dir.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/training_run.h"
#include "sim/training/play.h"
#include "tests/bench/bare.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace steptime {
namespace {

void asynchronous_workers(benchmark::State& state, const std::string& schedule,
                          std::int64_t steps) {
  const auto document = std::make_shared<Document>(Document{
      (data_dir() / "bench.json").string(),
      parse_json(
          fmt::format(
              R"({{"name": "bench", "workload": {{"model": "resnet50", "device": "k80", "batch": 32}},
                  "cluster": {{"preset": "k80-10gbe", "nodes": 1000}},
                  "strategy": {{"aggregation": {{"type": "parameter-server", "servers": 100}},
                                "update": {{"type": "asgd"}}, "schedule": {{"type": "{}"}}}},
                  "run": {{"steps": {}, "variation": {{"jitter": 0.1}}}}}})",
              schedule, steps),
          "bench.json")});
  const TrainingPlan plan = plan_training(read_experiment(document));
  double messages = 0;
  for (auto unused : state) {
    (void)unused;
    messages += static_cast<double>(play_programs(plan, 1).messages);
  }
  state.counters["steps"] = static_cast<double>(steps);
  state.counters["messages"] = benchmark::Counter(messages, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(asynchronous_workers, sync_easgd, "sync-easgd", 100)
    ->Unit(benchmark::kSecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(asynchronous_workers, wfbp, "wfbp", 100)->Unit(benchmark::kSecond)->Iterations(1);

/// What it costs to know where a step's time goes: "x", the least of several runs with causes over
/// the least without, taken in turn. The goal is 1.15.
void attribution(benchmark::State& state, const std::string& nodes, const std::string& strategy,
                 const std::string& run) {
  const auto document = std::make_shared<Document>(Document{
      (data_dir() / "bench.json").string(),
      parse_json(
          fmt::format(
              R"({{"name": "bench", "workload": {{"model": "resnet50", "device": "k80", "batch": 32}},
                  "cluster": {{"preset": "k80-10gbe", "nodes": {}}},
                  "strategy": {{{}}}, "run": {{{}}}}})",
              nodes, strategy, run),
          "bench.json")});
  const TrainingPlan plan = plan_training(read_experiment(document));
  double without = std::numeric_limits<double>::infinity();
  double with = without;
  double messages = 0;
  for (auto unused : state) {
    (void)unused;
    without = std::min(without, least_seconds(1, [&] {
                         messages = static_cast<double>(play_programs(plan, 1).messages);
                       }));
    with = std::min(with, least_seconds(1, [&] {
                      Causes causes;
                      play_programs(plan, 1, nullptr, nullptr, &causes);
                    }));
  }
  state.counters["x"] = with / without;
  state.counters["ns"] = without * 1e9 / messages;
}
constexpr const char* kWfbpServers =
    R"("aggregation": {"type": "parameter-server", "servers": 100}, "schedule": {"type": "wfbp"})";
BENCHMARK_CAPTURE(attribution, wfbp_servers, "200", kWfbpServers, R"("steps": 2)")
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);
BENCHMARK_CAPTURE(attribution, wfbp_asynchronous, "200",
                  R"("aggregation": {"type": "parameter-server", "servers": 100},
                     "update": {"type": "asgd"}, "schedule": {"type": "wfbp"})",
                  R"("steps": 2, "variation": {"jitter": 0.1})")
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);
BENCHMARK_CAPTURE(attribution, wfbp_messages, "50", kWfbpServers,
                  R"("steps": 2, "fidelity": "message")")
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);
BENCHMARK_CAPTURE(attribution, rings_two_streams, "64",
                  R"("aggregation": {"type": "all-reduce", "collective": "ring"},
                     "transport": {"type": "mpi", "streams": 2}, "schedule": {"type": "wfbp"})",
                  R"("fidelity": "message")")
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);

}  // namespace
}  // namespace steptime
