// BytePS: what is sent as one is cut into partitions, and a hash of its key places each partition
// on a server. The key of partition i of the n-th declared buffer is n 2^16 + i; buffers are
// declared in the order of their names. A buffer has 2^16 partitions at most.
//
// djb2, the default, is h = 33 h + c over the decimal digits c of the key, from 5381. As 33 = 1 mod
// 32, on 2, 4, 8, 16 or 32 servers it places by the sum of the digits, which is far from even.
//
// Parameters: partition [elements], BYTEPS_PARTITION_BYTES / 4; hash, BYTEPS_KEY_HASH_FN;
// first_key, how many buffers were declared before, which are counted where it is left out
// (sim/servers/sharding.h). Source: bytedance/byteps v0.2.3
// byteps/common/operations.cc InitTensor, global.cc EncodeDefaultKey, docs/env.md;
// byteps/torch/__init__.py declares gradients sorted by name.
#include "sim/core/error.h"
#include "sim/servers/sharding.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{{.key = "partition",
                      .kind = Kind::kInteger,
                      .help = "most elements of a message",
                      .need = Need::kDefault,
                      .fallback = 1024000,
                      .range = {.low = 1, .high = 1e15}},
                     {.key = "hash",
                      .kind = Kind::kText,
                      .help = "of a partition's key",
                      .need = Need::kDefault,
                      .fallback = "djb2",
                      .words = {"djb2", "sdbm", "naive"}},
                     {.key = "first_key",
                      .kind = Kind::kInteger,
                      .help = "of the first buffer: how many were declared before; default: none "
                              "before single gradients; before a buffer of several all gradients, "
                              "all parameters and what batch normalisations keep",
                      .need = Need::kOptional,
                      .range = {.low = 0, .high = 65535}}};

std::uint64_t djb2(std::uint64_t key) {
  std::uint64_t hash = 5381;
  for (const char digit : std::to_string(key))
    hash = hash * 33 + static_cast<std::uint64_t>(digit);
  return hash;
}

std::uint64_t sdbm(std::uint64_t key) {
  std::uint64_t hash = 0;
  for (const char digit : std::to_string(key))
    hash = hash * 65599 + static_cast<std::uint64_t>(digit);
  return hash;
}

std::uint64_t naive(std::uint64_t key) {
  return ((key >> 16) + (key & 65535)) * 9973;
}

constexpr std::int64_t kMostParts = 1 << 16;  // of one buffer

using Hash = std::uint64_t (*)(std::uint64_t);

class BytePs final : public Sharding {
 public:
  explicit BytePs(const Config& c) : partition_(c.get<std::int64_t>("partition")) {
    if (c.has("first_key")) first_key_ = c.get<std::int64_t>("first_key");
    const auto name = c.get<std::string>("hash");
    hash_ = name == "sdbm" ? sdbm : name == "naive" ? naive : djb2;
  }

  KeyKind keys() const override { return KeyKind::kBucket; }
  std::vector<Shard> shards(std::span<const std::int64_t> elements,
                            std::int64_t servers) const override {
    return shards_behind(0, elements, servers);
  }
  std::vector<Shard> shards_behind(std::int64_t declared, std::span<const std::int64_t> elements,
                                   std::int64_t servers) const override {
    const auto first = static_cast<std::uint64_t>(first_key_.value_or(declared));
    std::vector<Shard> all;
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const std::int64_t parts = elements[k] / partition_ + (elements[k] % partition_ > 0 ? 1 : 0);
      if (parts > kMostParts) {
        throw PlacedError(fmt::format(
            "/strategy/aggregation/sharding/partition: {} elements in partitions of {} are {}, but "
            "a key has 16 bits for them",
            elements[k], partition_, parts));
      }
      std::uint64_t key = (first + k) << 16;
      for (std::int64_t left = elements[k]; left > 0; left -= partition_) {
        const auto server = hash_(key++) % static_cast<std::uint64_t>(servers);
        all.push_back({static_cast<std::int32_t>(k), static_cast<std::int32_t>(server),
                       std::min(left, partition_)});
      }
    }
    return all;
  }

 private:
  std::int64_t partition_;
  std::optional<std::int64_t> first_key_;
  Hash hash_;
};

const bool kRegistered =
    Shardings::instance().add("byteps", "partitions of what is sent as one, hashed to servers",
                              kParams, [](const Config& c) { return std::make_unique<BytePs>(c); });

}  // namespace
}  // namespace steptime
