// What does a message cost? Every row says "ns", CPU time of a message in the fastest run, and how
// many times that is the bare recurrence over an array ("x_bare"), a bare heap's push and pop at
// 1,024 pending events ("x_heap"), and, where SimGrid is installed, SimGrid's share ("simgrid_x":
// how many times as long it takes for the same ring).
//
// Goals: ring over 1024 ranks 100 ns a message on the general path, 2 ns on the symmetric one, and
// 30 times as fast as SimGrid; two such rings at once 150 ns; 100 workers that push to 20 servers
// at unequal times 500 ns; ResNet-50, 161 tensors, WFBP, 256 ranks (21 M messages) 2.5 s
// general and 0.1 s symmetric; 16,384 ranks general within 2 GiB; 100,000 ranks hierarchical, a
// whole `steptime run`, within 1 s and 2 GiB.
#include "netmodels/programs.h"
#include "sim/collective/collective_player.h"
#include "sim/collective/message_time.h"
#include "sim/config/data_dir.h"
#include "sim/experiment/experiment.h"
#include "sim/network/machine.h"
#include "tests/bench/bare.h"
#ifdef STEPTIME_SIMGRID
#include "sim/experiment/read_experiment.h"
#include "tests/support/simgrid.h"
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

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

double ring_messages(std::int64_t ranks) {
  return 2.0 * static_cast<double>((ranks - 1) * ranks);
}

/// Largest resident size so far, of this process or of one that it has started.
double peak_mib(int of = RUSAGE_SELF) {
  rusage usage{};
  getrusage(of, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// A ring's recurrence over two arrays, for one message.
double bare_recurrence_ns() {
  static const double ns = [] {
    constexpr Rank kRanks = 1024;
    const Cut cut({0, kBytes}, kRanks);
    std::vector<std::int64_t> end(kRanks, 0);
    std::vector<std::int64_t> next(kRanks, 0);
    const double s = least_seconds(9, [&] {
      for (Rank step = 0; step < 2 * (kRanks - 1); ++step) {
        for (std::size_t r = 0; r + 1 < kRanks; ++r)
          next[r + 1] = std::max(end[r], end[r + 1]) + 50'000'000 + cut.each * 800;
        next[0] = std::max(end[kRanks - 1], end[0]) + 50'000'000 + cut.each * 800;
        end.swap(next);
      }
      benchmark::DoNotOptimize(end.data());
      benchmark::ClobberMemory();
    });
    return s * 1e9 / ring_messages(kRanks);
  }();
  return ns;
}

double bare_heap_ns() {
  static const double ns = [] {
    BareHeap heap;
    Xorshift random;
    std::uint64_t order = 0;
    for (int i = 0; i < 1024; ++i)
      heap.push({random.delay(), order++, 0});
    constexpr int kEvents = 1'000'000;
    return 1e9 / kEvents * least_seconds(5, [&] {
             for (int i = 0; i < kEvents; ++i)
               heap.push({heap.pop().time + random.delay(), order++, 0});
           });
  }();
  return ns;
}

/// A message of the ring over 1024 ranks; 0 where SimGrid is not installed.
double simgrid_ns() {
#ifdef STEPTIME_SIMGRID
  static const double ns = [] {
    constexpr Rank kRanks = 1024;
    const auto program = ring_all_reduce(kRanks, {0, kBytes});
    const double s = in_child([&] {
                       SimGrid simgrid(star_platform(kRanks), "Lazy");
                       const double start = thread_seconds();
                       simgrid.run(*program);
                       return std::vector<double>{thread_seconds() - start};
                     }).at(0);
    return s * 1e9 / ring_messages(kRanks);
  }();
  return ns;
#else
  return 0;
#endif
}

/// Plays until the benchmark has enough, and says what a message costs.
/// `play` has `repeats` times that many messages.
template <class Play>
void measure(benchmark::State& state, double messages, Play play, int repeats = 1) {
  double least = std::numeric_limits<double>::infinity();
  for (auto unused : state) {
    (void)unused;
    least = std::min(least, least_seconds(1, play));
  }
  const double ns = least * 1e9 / (messages * repeats);
  state.counters["ns"] = ns;
  state.counters["s"] = least / repeats;
  state.counters["x_bare"] = ns / bare_recurrence_ns();
  state.counters["x_heap"] = ns / bare_heap_ns();
  if (simgrid_ns() > 0) state.counters["simgrid_x"] = simgrid_ns() / ns;
}

void ring_symmetric(benchmark::State& state) {
  const Machine machine(star(state.range(0)));
  const Programs programs = ring(static_cast<Rank>(state.range(0)), kBytes);
  constexpr int kRepeats = 1000;
  measure(
      state, ring_messages(state.range(0)),
      [&] {
        for (int i = 0; i < kRepeats; ++i)
          benchmark::DoNotOptimize(symmetric_time(programs, machine, {}, {}));
      },
      kRepeats);
}
BENCHMARK(ring_symmetric)->Arg(1024);

void ring_general(benchmark::State& state) {
  const Machine machine(star(state.range(0)));
  const Programs programs = ring(static_cast<Rank>(state.range(0)), kBytes);
  measure(state, ring_messages(state.range(0)),
          [&] { benchmark::DoNotOptimize(played_time(programs, machine, {}, {})); });
}
BENCHMARK(ring_general)->Arg(1024)->Unit(benchmark::kMillisecond);

/// The way out of rank 0 has a bandwidth of its own, so that the ranks fall out of step.
void ring_one_slow_link(benchmark::State& state) {
  Machine machine(star(state.range(0)));
  machine.set_bandwidth(0, {1.1e9});
  const Programs programs = ring(static_cast<Rank>(state.range(0)), kBytes);
  measure(state, ring_messages(state.range(0)),
          [&] { benchmark::DoNotOptimize(played_time(programs, machine, {}, {})); });
}
BENCHMARK(ring_one_slow_link)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Every link has a bandwidth of its own: few events fall on the same instant.
void ring_unequal_links(benchmark::State& state) {
  Machine machine(star(state.range(0)));
  for (ChannelId c = 0; c < static_cast<ChannelId>(state.range(0)); ++c)
    machine.set_bandwidth(c, {1.25e9 - 1e5 * static_cast<double>(c * 7919 % 1009)});
  const Programs programs = ring(static_cast<Rank>(state.range(0)), kBytes);
  measure(state, ring_messages(state.range(0)),
          [&] { benchmark::DoNotOptimize(played_time(programs, machine, {}, {})); });
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
  const auto messages = static_cast<double>(buckets.size()) * ring_messages(256);
  measure(state, messages, [&] {
    for (const std::int64_t bytes : buckets)
      benchmark::DoNotOptimize(played_time(ring(256, bytes), machine, {}, {}));
  });
  state.counters["tensors"] = static_cast<double>(buckets.size());
}
BENCHMARK(resnet50_general)->Unit(benchmark::kMillisecond);

void resnet50_symmetric(benchmark::State& state) {
  const Machine machine(star(256));
  const std::vector<std::int64_t> buckets = resnet50_buckets();
  const auto messages = static_cast<double>(buckets.size()) * ring_messages(256);
  constexpr int kRepeats = 100;
  measure(
      state, messages,
      [&] {
        for (int i = 0; i < kRepeats; ++i) {
          for (const std::int64_t bytes : buckets)
            benchmark::DoNotOptimize(symmetric_time(ring(256, bytes), machine, {}, {}));
        }
      },
      kRepeats);
}
BENCHMARK(resnet50_symmetric)->Unit(benchmark::kMillisecond);

/// The program itself: 12,500 nodes of 8 GPUs, a ResNet-50 step.
void run_hierarchical_100000(benchmark::State& state) {
  const std::string config = std::string(STEPTIME_BENCH_DIR) + "/hierarchical_100000.json";
  const std::string command = fmt::format("{} run {} > /dev/null", STEPTIME_PROGRAM, config);
  double least = std::numeric_limits<double>::infinity();
  for (auto unused : state) {
    (void)unused;
    const auto start = std::chrono::steady_clock::now();
    if (std::system(command.c_str()) != 0) state.SkipWithError("steptime run failed");
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.counters["wall_s"] = least;
  state.counters["peak_MiB"] = peak_mib(RUSAGE_CHILDREN);
}
BENCHMARK(run_hierarchical_100000)->Unit(benchmark::kMillisecond);

/// 16,384 ranks on the general path: halving-doubling, 28 messages a rank, one of ResNet-50's
/// sizes in all.
void halving_doubling_16384(benchmark::State& state) {
  const Machine machine(star(16'384));
  Programs programs;
  programs.push_back(halving_doubling(16'384, {0, kBytes}));
  measure(state, programs.front()->messages(),
          [&] { benchmark::DoNotOptimize(played_time(programs, machine, {}, {})); });
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(halving_doubling_16384)->Unit(benchmark::kMillisecond);

/// The same for a ring, 537 M messages: the first million of them.
void ring_16384(benchmark::State& state) {
  const Machine machine(star(16'384));
  const Programs programs = ring(16'384, kBytes);
  measure(state, 1e6, [&] {
    Engine engine;
    Network network(engine, machine);
    CollectivePlayer player(network, programs, {});
    player.start_at(Time{});
    while (network.messages_delivered() < 1'000'000 && engine.step()) {
    }
    benchmark::DoNotOptimize(network.now());
  });
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(ring_16384)->Unit(benchmark::kMillisecond);

/// N workers push to one server: every message shares the server's port with all others.
void incast(benchmark::State& state) {
  const auto workers = static_cast<Rank>(state.range(0));
  const Machine machine(star(workers + 1));
  Programs programs;
  programs.push_back(push_pull(workers, 1, {0, kBytes}, 10));
  measure(state, programs.front()->messages(),
          [&] { benchmark::DoNotOptimize(played_time(programs, machine, {}, {})); });
}
BENCHMARK(incast)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Two rings over the same 1,024 ranks, which share every port; the second starts some microseconds
/// later (a message takes 78 us and its latency). `state.range(1)`: how many ranks lie between two
/// neighbours of the second ring.
void two_rings(benchmark::State& state) {
  constexpr Rank kRanks = 1024;
  const Machine machine(star(kRanks));
  const Programs programs = ring(kRanks, kBytes);
  std::vector<Endpoint> placement(kRanks);
  for (Rank r = 0; r < kRanks; ++r)
    placement[static_cast<std::size_t>(r)] = static_cast<Endpoint>(r * state.range(1) % kRanks);
  measure(state, 2 * ring_messages(kRanks), [&] {
    Engine engine;
    Network network(engine, machine);
    CollectivePlayer first(network, programs, {});
    CollectivePlayer second(network, programs, {}, placement);
    first.start_at(Time{});
    second.start_at(Time(std::chrono::microseconds(state.range(0))));
    engine.run();
    benchmark::DoNotOptimize(first.end());
  });
}
BENCHMARK(two_rings)->Args({0, 1})->Args({40, 1})->Args({0, 7})->Args({40, 7})->Unit(
    benchmark::kMillisecond);

/// 100 workers push 1 MB to each of 20 servers, `state.range(1)` times, at times of their own; a
/// server's port would be busy for `state.range(0)` % of the time in which the pushes begin.
void pushes_at_unequal_times(benchmark::State& state) {
  constexpr Endpoint kWorkers = 100;
  constexpr Endpoint kServers = 20;
  constexpr std::int64_t kPush = 1'000'000;
  struct Ignore final : MessageSink {
    void delivered(const Message&) override {}
  };
  const Machine machine(star(kWorkers + kServers));
  const std::int64_t messages = kWorkers * kServers * state.range(1);
  const Duration busy = transfer_time(static_cast<double>(kPush * (messages / kServers)), 1.25e9);
  const std::int64_t span = busy.count() / state.range(0) * 100;
  measure(state, static_cast<double>(messages), [&] {
    Engine engine;
    Network network(engine, machine);
    Ignore sink;
    Xorshift random;
    for (std::int64_t i = 0; i < messages; ++i) {
      const Message message{&sink, static_cast<Endpoint>(i % kWorkers),
                            static_cast<Endpoint>(kWorkers + i / kWorkers % kServers), kPush};
      const Duration start((span >> 20) * random.delay());
      engine.at(Time(start), Phase::kNormal,
                [network = &network, message] { network->send(message); });
    }
    engine.run();
    benchmark::DoNotOptimize(engine.now());
  });
}
BENCHMARK(pushes_at_unequal_times)->Args({80, 20})->Args({1000, 1})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace steptime
