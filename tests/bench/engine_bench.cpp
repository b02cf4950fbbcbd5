// What does the engine cost over a bare 4-ary heap of 24-byte events that does the same schedule
// and pop? Hold model: every event that runs schedules one at a random later time, so the number
// of pending events stays. Compare the two at equal pending counts; the goal is 1.5.
#include "sim/events/engine.h"
#include "tests/bench/bare.h"

#include <cstdint>

#include <benchmark/benchmark.h>

namespace steptime {
namespace {

void bare_heap(benchmark::State& state) {
  BareHeap heap;
  Xorshift random;
  std::uint64_t order = 0;
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    heap.push({random.delay(), order++, 0});
  for (auto unused : state) {
    (void)unused;
    const BareEvent event = heap.pop();
    sum += event.payload;
    heap.push({event.time + random.delay(), order++, sum});
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(bare_heap)->Arg(16)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);

struct Hold {
  Engine engine;
  Xorshift random;
  std::uint64_t ran = 0;
  void schedule() {
    engine.after(Duration(random.delay()), Phase::kNormal, [this] {
      ++ran;
      schedule();
    });
  }
};

void engine(benchmark::State& state) {
  Hold hold;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    hold.schedule();
  for (auto unused : state) {
    (void)unused;
    hold.engine.step();
  }
  benchmark::DoNotOptimize(hold.ran);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(engine)->Arg(16)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);

}  // namespace
}  // namespace steptime
