// In which order the threads of a pool take operations that wait for one (thread_pool.h).
#pragma once
#include <cstdint>

namespace steptime {

enum class PoolOrder : std::uint8_t { kPriority, kFifo };

}  // namespace steptime
