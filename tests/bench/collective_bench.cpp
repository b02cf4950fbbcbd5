// What does a message cost? items_per_second counts messages. Goals: ring over 1024 ranks 100 ns a
// message on the general path and 2 ns on the symmetric one; ResNet-50, 161 tensors, WFBP, 256
// ranks (21 M messages) 2.5 s general and 0.1 s symmetric; 16,384 ranks general within 2 GiB;
// 100,000 ranks hierarchical within 1 s and 2 GiB. SimGrid 3.32 takes 3.4 us a message for the
// ring.
#include "netmodels/programs.h"
#include "sim/collective_player.h"
#include "sim/data_dir.h"
#include "sim/experiment.h"
#include "sim/machine.h"
#include "sim/message_time.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <sys/resource.h>
#include <vector>

#include <benchmark/benchmark.h>

namespace steptime {
namespace {

constexpr std::int64_t kBytes = 100'000'000;

Cluster star(std::int64_t nodes) {
  Cluster cluster{.nodes = nodes};
  cluster.network = {std::chrono::microseconds(50), {1.25e9}};
  cluster.intra_node = cluster.network;
  return cluster;
}

Programs ring(Rank ranks, std::int64_t bytes) {
  Programs programs;
  programs.push_back(ring_all_reduce(ranks, {0, bytes}));
  return programs;
}

std::int64_t ring_messages(std::int64_t ranks) {
  return 2 * (ranks - 1) * ranks;
}

/// Largest resident size of the process so far.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void ring_symmetric(benchmark::State& state) {
  const Machine machine(star(state.range(0)));
  const Programs programs = ring(static_cast<Rank>(state.range(0)), kBytes);
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(symmetric_time(programs, machine, {}, {}));
  }
  state.SetItemsProcessed(state.iterations() * ring_messages(state.range(0)));
}
BENCHMARK(ring_symmetric)->Arg(1024);

void ring_general(benchmark::State& state) {
  const Machine machine(star(state.range(0)));
  const Programs programs = ring(static_cast<Rank>(state.range(0)), kBytes);
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(played_time(programs, machine, {}, {}));
  }
  state.SetItemsProcessed(state.iterations() * ring_messages(state.range(0)));
}
BENCHMARK(ring_general)->Arg(1024)->Unit(benchmark::kMillisecond);

/// The way out of rank 0 has a bandwidth of its own, so that the ranks fall out of step.
void ring_one_slow_link(benchmark::State& state) {
  Machine machine(star(state.range(0)));
  machine.set_bandwidth(0, {1.1e9});
  const Programs programs = ring(static_cast<Rank>(state.range(0)), kBytes);
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(played_time(programs, machine, {}, {}));
  }
  state.SetItemsProcessed(state.iterations() * ring_messages(state.range(0)));
}
BENCHMARK(ring_one_slow_link)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Every link has a bandwidth of its own: few events fall on the same instant.
void ring_unequal_links(benchmark::State& state) {
  Machine machine(star(state.range(0)));
  for (ChannelId c = 0; c < static_cast<ChannelId>(state.range(0)); ++c)
    machine.set_bandwidth(c, {1.25e9 - 1e5 * static_cast<double>(c * 7919 % 1009)});
  const Programs programs = ring(static_cast<Rank>(state.range(0)), kBytes);
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(played_time(programs, machine, {}, {}));
  }
  state.SetItemsProcessed(state.iterations() * ring_messages(state.range(0)));
}
BENCHMARK(ring_unequal_links)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Bytes of the buckets of a WFBP step of ResNet-50.
std::vector<std::int64_t> resnet50_buckets() {
  const auto document = std::make_shared<Document>(
      Document{(data_dir() / "bench.json").string(), parse_json(R"({"name": "bench",
                     "workload": {"model": "resnet50", "device": "k80", "batch": 32},
                     "cluster": {"preset": "k80-10gbe", "nodes": 256}})",
                                                                "bench.json")});
  const Experiment e = read_experiment(document);
  std::vector<std::int64_t> bytes;
  for (const GradientUnit& unit : e.workload->by_tensor)
    bytes.push_back(unit.bytes.count);
  return bytes;
}

/// Every bucket is played, also those of a size that was played before.
void resnet50_general(benchmark::State& state) {
  const Machine machine(star(256));
  const std::vector<std::int64_t> buckets = resnet50_buckets();
  for (auto unused : state) {
    (void)unused;
    for (const std::int64_t bytes : buckets)
      benchmark::DoNotOptimize(played_time(ring(256, bytes), machine, {}, {}));
  }
  state.counters["tensors"] = static_cast<double>(buckets.size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(buckets.size()) *
                          ring_messages(256));
}
BENCHMARK(resnet50_general)->Unit(benchmark::kMillisecond);

void resnet50_symmetric(benchmark::State& state) {
  const Machine machine(star(256));
  const std::vector<std::int64_t> buckets = resnet50_buckets();
  for (auto unused : state) {
    (void)unused;
    for (const std::int64_t bytes : buckets)
      benchmark::DoNotOptimize(symmetric_time(ring(256, bytes), machine, {}, {}));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(buckets.size()) *
                          ring_messages(256));
}
BENCHMARK(resnet50_symmetric)->Unit(benchmark::kMillisecond);

/// All 161 tensors, 12,500 nodes of 8 GPUs, from cluster to times.
void hierarchical_100000(benchmark::State& state) {
  const std::vector<std::int64_t> buckets = resnet50_buckets();
  Cluster cluster = star(12'500);
  cluster.gpus_per_node = 8;
  for (auto unused : state) {
    (void)unused;
    const Machine machine(cluster);
    for (const std::int64_t bytes : buckets) {
      Programs programs;
      programs.push_back(hierarchical_all_reduce(12'500, 8, {0, bytes}));
      benchmark::DoNotOptimize(symmetric_time(programs, machine, {}, {}));
    }
  }
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(hierarchical_100000)->Unit(benchmark::kMillisecond);

/// 16,384 ranks on the general path: halving-doubling, 28 messages a rank, one of ResNet-50's
/// sizes in all.
void halving_doubling_16384(benchmark::State& state) {
  const Machine machine(star(16'384));
  Programs programs;
  programs.push_back(halving_doubling(16'384, {0, kBytes}));
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(played_time(programs, machine, {}, {}));
  }
  state.SetItemsProcessed(state.iterations() * 16'384 * 28);
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(halving_doubling_16384)->Unit(benchmark::kMillisecond);

/// The same for a ring, 537 M messages: the first million of them.
void ring_16384(benchmark::State& state) {
  const Machine machine(star(16'384));
  const Programs programs = ring(16'384, kBytes);
  for (auto unused : state) {
    (void)unused;
    Transport transport(machine);
    CollectivePlayer player(transport, programs, {});
    player.start_at(Time{});
    while (transport.messages_delivered() < 1'000'000 && transport.step()) {
    }
    benchmark::DoNotOptimize(transport.now());
  }
  state.SetItemsProcessed(state.iterations() * 1'000'000);
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(ring_16384)->Unit(benchmark::kMillisecond);

/// N workers push to one server: every message shares the server's port with all others.
void incast(benchmark::State& state) {
  const auto workers = static_cast<Rank>(state.range(0));
  const Machine machine(star(workers + 1));
  for (auto unused : state) {
    (void)unused;
    Programs programs;
    programs.push_back(push_pull(workers, 1, {0, kBytes}, 10));
    benchmark::DoNotOptimize(played_time(programs, machine, {}, {}));
  }
  state.SetItemsProcessed(state.iterations() * 20 * workers);
}
BENCHMARK(incast)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace steptime
