// How many JSONL points does a sweep write per second on one thread? The goal is 300,000.
#include "sim/config/data_dir.h"
#include "sim/experiment/run_sweep.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

namespace steptime {
namespace {

/// A 161-tensor model over node counts, link speeds and schedules.
std::shared_ptr<const Document> config() {
  return std::make_shared<Document>(Document{
      (data_dir() / "bench.json").string(),
      parse_json(
          R"({"name": "bench", "workload": {"model": "resnet50", "device": "k80", "batch": 32},
                     "cluster": {"nodes": 1, "network": {"type": "switch", "latency": "20 us",
                                                         "bandwidth": "10 Gbps"}},
                     "sweep": {"/cluster/nodes": {"from": 2, "to": 1001, "plus": 1},
                               "/cluster/network/bandwidth": ["10 Gbps", "25 Gbps", "100 Gbps"],
                               "/strategy/schedule/type": ["wfbp", "sync-easgd", "mg-wfbp",
                                                           "optimal"]}})",
          "bench.json")});
}

void sweep_rows(benchmark::State& state) {
  const Sweep sweep(config());
  std::int64_t bytes = 0;
  for (auto unused : state) {
    (void)unused;
    run_sweep(sweep, {.threads = static_cast<int>(state.range(0)),
                      .on_row = [&](const SweepRow&, std::string_view line) {
                        bytes += static_cast<std::int64_t>(line.size());
                      }});
  }
  state.SetItemsProcessed(state.iterations() * sweep.points());
  state.SetBytesProcessed(bytes);
}
BENCHMARK(sweep_rows)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace steptime
