// What does the engine cost over a bare 4-ary heap of 24-byte events that does the same schedule
// and pop? Hold model: every event that runs schedules one at a random later time, so the number
// of pending events stays. Compare the two at equal pending counts; the goal is 1.5.
#include "sim/engine.h"

#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

namespace steptime {
namespace {

/// Marsaglia's xorshift: the cheapest generator that spreads the times.
struct Xorshift {
  std::uint64_t state = 88172645463325252ULL;
  std::int64_t delay() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::int64_t>(state & 0xfffff);  // up to 1 us
  }
};

struct BareEvent {
  std::int64_t time;
  std::uint64_t order;
  std::uint64_t payload;
  bool operator<(const BareEvent& other) const {
    return time != other.time ? time < other.time : order < other.order;
  }
};

class BareHeap {
 public:
  void push(BareEvent event) {
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0 && event < heap_[(hole - 1) / 4]) {
      heap_[hole] = heap_[(hole - 1) / 4];
      hole = (hole - 1) / 4;
    }
    heap_[hole] = event;
  }
  BareEvent pop() {
    const BareEvent top = heap_.front();
    const BareEvent last = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    for (std::size_t first = 1; first < size; first = 4 * hole + 1) {
      std::size_t least = first;
      for (std::size_t child = first + 1; child < first + 4 && child < size; ++child) {
        if (heap_[child] < heap_[least]) least = child;
      }
      if (!(heap_[least] < last)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    if (size > 0) heap_[hole] = last;
    return top;
  }

 private:
  std::vector<BareEvent> heap_;
};

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
