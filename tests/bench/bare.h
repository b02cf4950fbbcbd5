// What the benchmarks are compared with: the least that anyone could do.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <time.h>
#include <vector>

namespace steptime {

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

/// 4-ary, of 24-byte events.
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

/// Time that this thread has run, s: other programs do not count.
inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The least of several runs, s.
template <class Run>
double least_seconds(int runs, Run run) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const double start = thread_seconds();
    run();
    least = std::min(least, thread_seconds() - start);
  }
  return least;
}

}  // namespace steptime
