// What does an analytic WFBP step of a 161-tensor model cost over the bare recurrence
// (004 equation 7)? The goal is 2.
#include "sim/config/data_dir.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/step/step.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

namespace steptime {
namespace {

StepPlan resnet50_plan() {
  const auto document = std::make_shared<Document>(Document{
      (data_dir() / "bench.json").string(),
      parse_json(
          R"({"name": "bench", "workload": {"model": "resnet50", "device": "k80", "batch": 32},
                     "cluster": {"preset": "k80-10gbe", "nodes": 16}})",
          "bench.json")});
  const Experiment e = read_experiment(document);
  const auto& units = e.workload->units(Granularity::kTensor);
  return plan_step(e.workload->workload, units, e.schedule->plan(units, *e.collective),
                   *e.collective, e.cluster->workers());
}

void bare_recurrence(benchmark::State& state) {
  const StepPlan plan = resnet50_plan();
  std::vector<std::int64_t> ready;
  std::vector<std::int64_t> cost;
  for (const Bucket& b : plan.buckets) {
    ready.push_back(b.ready.count());
    cost.push_back(b.cost.count());
  }
  for (auto unused : state) {
    (void)unused;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < ready.size(); ++i)
      end = std::max(end, ready[i]) + cost[i];
    benchmark::DoNotOptimize(end);
    benchmark::ClobberMemory();
  }
  state.counters["tensors"] = static_cast<double>(ready.size());
}
BENCHMARK(bare_recurrence);

void analytic_step(benchmark::State& state) {
  const StepPlan plan = resnet50_plan();
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(closed_step(plan));
    benchmark::ClobberMemory();
  }
  state.counters["tensors"] = static_cast<double>(plan.buckets.size());
}
BENCHMARK(analytic_step);

}  // namespace
}  // namespace steptime
