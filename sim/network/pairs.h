// Which pairs of workers exchange messages.
#pragma once
#include <cstdint>

namespace steptime {

enum class Pairs : std::uint8_t {
  kAny,           ///< any two workers
  kInNode,        ///< two workers of one node
  kBetweenNodes,  ///< two workers of different nodes, of each node one
};

}  // namespace steptime
