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
  /// The same of buffers of several gradients, which a program sends beside so many buffers that it
  /// has declared before, where keys are numbers in the order of the declarations. BytePS for
  /// PyTorch declares a buffer for each gradient, then those that it broadcasts before the first
  /// step: each parameter, and the running mean, variance and count of each batch normalisation,
  /// which only a layer table tells. Source: bytedance/byteps v0.2.3 byteps/torch/__init__.py
  /// (DistributedOptimizer, broadcast_parameters of a state_dict).
  virtual std::vector<Shard> shards_behind(std::int64_t /*declared*/,
                                           std::span<const std::int64_t> elements,
                                           std::int64_t servers) const {
    return shards(elements, servers);
  }
};
using Shardings = Registry<Sharding>;

}  // namespace steptime
