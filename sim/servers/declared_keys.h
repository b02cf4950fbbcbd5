// A sharding whose keys are numbers of buffers in the order in which a framework declares them.
// BytePS for PyTorch declares a buffer for each gradient, then those that it broadcasts before the
// first step (each parameter, and the running mean, variance and count of each batch
// normalisation, which only a layer table tells), then what a program sends beside: a buffer of
// several gradients comes behind all of these. Source: bytedance/byteps v0.2.3
// byteps/torch/__init__.py (DistributedOptimizer, broadcast_parameters of a state_dict).
#pragma once
#include "sim/servers/sharding.h"

#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

class DeclaredKeys {
 public:
  virtual ~DeclaredKeys() = default;
  /// Sharding::shards() where so many buffers were declared before the first one, unless the
  /// config says how many.
  virtual std::vector<Shard> shards_behind(std::int64_t declared,
                                           std::span<const std::int64_t> elements,
                                           std::int64_t servers) const = 0;
};

}  // namespace steptime
