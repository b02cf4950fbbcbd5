// A pool of threads and the operations that wait for one of them.
//
// An operation that becomes ready while a thread is idle is taken by it at once, whatever its
// priority. Only what finds no idle thread waits: in a FIFO pool in the order in which it became
// ready, in a priority pool in a binary heap on the priority alone. Operations of equal priority
// therefore leave that heap in the order of its layout, which is not that of their readiness. MXNet
// has std::push_heap and std::pop_heap there, whose layout the standard leaves open; this heap is
// its own and has the layout of libstdc++, with which MXNet is built.
//
// Scope: on hardware an idle thread that wakes up races with the thread that makes operations
// ready; here the idle thread always wins.
// Source: apache/mxnet 1.3.1 src/engine/threaded_engine_perdevice.cc; dmlc-core 0a0e8add
// include/dmlc/concurrency.h (ConcurrentBlockingQueue); libstdc++ bits/stl_heap.h.
#pragma once
#include "sim/events/causes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

/// In which order threads take operations that wait for one.
enum class PoolOrder : std::uint8_t {
  kPriority,
  kFifo,
  kLaterFirst  ///< the heap of an order that takes an equal for a lower one, as with `<=` for `<`
};

class ThreadPool {
 public:
  ThreadPool(std::int64_t threads, PoolOrder order) : idle_(threads), order_(order) {}

  struct Taken {
    std::uint32_t operation;
    CauseId led;  ///< what led to its start
  };
  /// The operation is ready, because of `led`. True: a thread has taken it, which next_taken() will
  /// say.
  bool add(std::int32_t priority, std::uint32_t operation, CauseId led = 0);
  /// A thread has ended its operation and looks for another. True: it has taken one.
  bool end_one(CauseId led = 0);
  /// The operations that threads have taken, each once, in the order in which they did.
  std::optional<Taken> next_taken();

 private:
  struct Waiting {
    std::int32_t priority;
    std::uint32_t operation;
  };
  bool is_below(const Waiting& one, const Waiting& other) const {
    return order_ == PoolOrder::kLaterFirst ? one.priority <= other.priority
                                            : one.priority < other.priority;
  }
  /// Moves `added` up from `place`, which is free, to where its parent is not below it.
  void sift_up(std::size_t place, Waiting added);
  std::uint32_t pop_heap();
  std::uint32_t pop_first();

  std::int64_t idle_;
  std::vector<Waiting> waiting_;  ///< a heap, or the queue from first_ on
  std::vector<Taken> taken_;
  std::uint32_t first_ = 0;
  std::uint32_t next_taken_ = 0;
  PoolOrder order_;
};

}  // namespace steptime
