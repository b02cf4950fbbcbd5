// Which parameter server holds which part of which key. Implemented in netmodels/sharding/.
#pragma once
#include "sim/config/registry.h"

#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

/// A contiguous part of a key's elements on one server.
struct Shard {
  std::int32_t key = 0;
  std::int32_t server = 0;
  std::int64_t elements = 0;
  bool operator==(const Shard&) const = default;
};

/// What a sharding places.
enum class KeyKind {
  kTensor,  ///< tensors in forward order; what a bucket has for one server is one message
  kBucket   ///< what a schedule sends as one, in the order of names; every shard is a message that
            ///< is reduced, pushed, pulled and broadcast by itself
};

class Sharding {
 public:
  static constexpr const char* kNoun = "sharding";
  virtual ~Sharding() = default;
  virtual KeyKind keys() const { return KeyKind::kTensor; }
  /// Whether the two moving averages of a batch normalisation are keys as well, behind its tensors.
  /// They have no gradients, but take a turn, or a server's room.
  virtual bool places_moving_averages() const { return false; }
  /// `elements`: of every key. The shards of a key follow one another, in the order of its
  /// elements, and add up to it; no shard is empty unless its key is.
  virtual std::vector<Shard> shards(std::span<const std::int64_t> elements,
                                    std::int64_t servers) const = 0;
};
using Shardings = Registry<Sharding>;

}  // namespace steptime
