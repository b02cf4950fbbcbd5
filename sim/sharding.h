// Which parameter server holds which part of which key. Implemented in netmodels/sharding/.
#pragma once
#include "sim/registry.h"

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

class Sharding {
 public:
  static constexpr const char* kNoun = "sharding";
  virtual ~Sharding() = default;
  /// `elements`: of every key, keys in forward order. The shards of a key follow one another, in
  /// the order of its elements, and add up to it; no shard is empty unless its key is.
  virtual std::vector<Shard> shards(std::span<const std::int64_t> elements,
                                    std::int64_t servers) const = 0;
};
using Shardings = Registry<Sharding>;

}  // namespace steptime
