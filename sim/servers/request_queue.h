// The requests of one server's thread that takes what waits from a heap, as ps-lite's receiver does
// since dmlc/ps-lite db61897 (MXNet 1.7.0): what came last goes first as a rule, and a request to
// pull may pass the push before it.
//
// All requests have one priority, as kvstore_dist gives it; the heap's order among equals is that
// of libstdc++ (sim/runtime/thread_pool.h).
// Source: dmlc/ps-lite include/ps/internal/threadsafe_pqueue.h; apache/mxnet 1.9.1
// src/kvstore/kvstore_dist.h.
#pragma once
#include "sim/runtime/thread_pool.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

struct Exchanged;

struct Request {
  Exchanged* of = nullptr;
  std::uint32_t slot = 0;
  bool is_push = false;
};

class RequestQueue {
 public:
  /// A request is there. Whether the thread is free for it, which next() then gives.
  bool add(const Request& request) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(requests_.size()));
      requests_.emplace_back();
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    requests_[place] = request;
    return thread_.add(0, place);
  }
  /// What the thread has taken, once.
  std::optional<Request> next() {
    const auto taken = thread_.next_taken();
    if (!taken) return std::nullopt;
    free_.push_back(taken->operation);
    return requests_[taken->operation];
  }
  /// The thread is through with what it took, and takes another one if any waits.
  void end_one() { thread_.end_one(); }

 private:
  ThreadPool thread_{1, PoolOrder::kLaterFirst};
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_;  ///< places in it
};

}  // namespace steptime
