// In which order the threads of a pool take operations that are ready.
//
// By falling priority, then in the order in which they became ready; in a FIFO pool all priorities
// are equal. MXNet's own order between equal priorities is that of a binary heap, which is not
// stable.
// Source: apache/mxnet 1.3.1 src/engine/threaded_engine_perdevice.cc.
#pragma once
#include <cstdint>

namespace steptime {

enum class PoolOrder : std::uint8_t { kPriority, kFifo };

struct ReadyOperation {
  std::int32_t priority;  ///< 0 in a FIFO pool
  std::uint32_t operation;
  std::uint64_t order;  ///< in which operations became ready
  /// "Starts later", for a heap whose top starts first.
  bool operator<(const ReadyOperation& other) const {
    return priority != other.priority ? priority < other.priority : order > other.order;
  }
};

}  // namespace steptime
