// How many JSONL points does a sweep write per second on one thread? The goal is 300,000. And what
// do two threads reach of what two that share nothing do (of_plain)? The goal is 0.95.
#include "sim/config/data_dir.h"
#include "sim/sweeps/run_sweep.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <benchmark/benchmark.h>

namespace steptime {
namespace {

/// A 161-tensor model over node counts, link speeds and schedules.
std::shared_ptr<const Document> config(int from, int to) {
  Json root = parse_json(
      R"({"name": "bench", "workload": {"model": "resnet50", "device": "k80", "batch": 32},
          "cluster": {"nodes": 1, "network": {"type": "switch", "latency": "20 us",
                                              "bandwidth": "10 Gbps"}},
          "sweep": {"/cluster/nodes": {"plus": 1},
                    "/cluster/network/bandwidth": ["10 Gbps", "25 Gbps", "100 Gbps"],
                    "/strategy/schedule/type": ["wfbp", "sync-easgd", "mg-wfbp", "optimal"]}})",
      "bench.json");
  root["sweep"]["/cluster/nodes"].update({{"from", from}, {"to", to}});
  return std::make_shared<Document>(Document{(data_dir() / "bench.json").string(), root});
}

/// Returns the bytes that it writes.
std::int64_t write(const Sweep& sweep, int threads) {
  std::int64_t bytes = 0;
  run_sweep(sweep, {.threads = threads, .on_row = [&](const SweepRow&, std::string_view line) {
                      bytes += static_cast<std::int64_t>(line.size());
                    }});
  return bytes;
}

void sweep_rows(benchmark::State& state) {
  const Sweep sweep(config(2, 1001));
  std::int64_t bytes = 0;
  for (auto unused : state) {
    (void)unused;
    bytes += write(sweep, static_cast<int>(state.range(0)));
  }
  state.SetItemsProcessed(state.iterations() * sweep.points());
  state.SetBytesProcessed(bytes);
}
BENCHMARK(sweep_rows)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Two threads of one sweep against two threads that have nothing to do with each other, each with
/// a sweep of half the points; and against one thread. In turns, and of each the fastest, so that
/// what else the machine does counts little.
void sweep_two_threads(benchmark::State& state) {
  const Sweep whole(config(2, 1001));
  const Sweep halves[] = {Sweep(config(2, 501)), Sweep(config(502, 1001))};
  const auto fastest = [](double& least, auto run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  };
  double one = 1e9;
  double two = 1e9;
  double plain = 1e9;
  for (auto unused : state) {
    (void)unused;
    fastest(one, [&] { write(whole, 1); });
    fastest(plain, [&] {
      std::thread other([&] { write(halves[0], 1); });
      write(halves[1], 1);
      other.join();
    });
    fastest(two, [&] { write(whole, 2); });
  }
  state.counters["plain_speedup"] = one / plain;
  state.counters["speedup"] = one / two;
  state.counters["of_plain"] = plain / two;
}
BENCHMARK(sweep_two_threads)->Iterations(50)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace steptime
