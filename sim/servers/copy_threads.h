// The threads of GPUs that copy: a GPU has so many messages under way at once. Of those that wait
// for it, the one with the lowest rank goes first, and among equals the one that came first.
#pragma once
#include "sim/network/machine.h"

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

namespace steptime {

class CopyThreads {
 public:
  /// `each`: of a GPU. GPUs are the endpoints before `gpus`.
  CopyThreads(std::int64_t gpus, std::int64_t each)
      : each_(each), gpus_(static_cast<std::size_t>(gpus)) {}

  bool has(Endpoint end) const { return static_cast<std::size_t>(end) < gpus_.size(); }
  /// Whether a message may go now; if not, it waits for a thread. An end that is no GPU takes none.
  bool take(Endpoint end, std::int64_t rank, std::uint32_t message) {
    if (!has(end)) return true;
    Gpu& gpu = gpus_[static_cast<std::size_t>(end)];
    if (gpu.under_way == each_) {
      gpu.waiting.push({rank, arrivals_++, message});
      return false;
    }
    ++gpu.under_way;
    return true;
  }
  /// A message is over. The one that goes now in its place, if any waits.
  std::optional<std::uint32_t> give_back(Endpoint end) {
    if (!has(end)) return std::nullopt;
    Gpu& gpu = gpus_[static_cast<std::size_t>(end)];
    if (gpu.waiting.empty()) {
      --gpu.under_way;
      return std::nullopt;
    }
    const std::uint32_t next = gpu.waiting.top().message;
    gpu.waiting.pop();
    return next;
  }

 private:
  struct Waiting {
    std::int64_t rank;
    std::uint64_t arrival;
    std::uint32_t message;
    bool operator<(const Waiting& other) const {
      return rank != other.rank ? rank > other.rank : arrival > other.arrival;
    }
  };
  struct Gpu {
    std::int64_t under_way = 0;
    std::priority_queue<Waiting> waiting;
  };
  std::int64_t each_;
  std::vector<Gpu> gpus_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace steptime
