// How MXNet's kvstore adds a key up over the GPUs of a node and gives all of them the sum, as
// operations of the engine. Implemented in netmodels/merges/, one file each; the benchmark
// "push-pulls" and the embedding of the Module API play them.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/registry.h"
#include "sim/mxnet/node_process.h"
#include "sim/network/cluster.h"
#include "sim/network/machine.h"
#include "sim/servers/sharding.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace steptime {

/// Neighbouring keys that are pushed, or pulled, in one call.
struct KeyRange {
  std::size_t first = 0;
  std::size_t count = 1;
};

/// The keys of one process, with their buffers. Says what the process does in a step.
class KvStore {
 public:
  virtual ~KvStore() = default;
  /// Adds up what all GPUs have as their gradients, for the process's optimizer.
  virtual void push(KeyRange keys) = 0;
  /// Gives every GPU what that makes of it as its weights.
  virtual void pull(KeyRange keys) = 0;
  /// Of the Python API, in a push and in a pull; the optimizer's come on top.
  virtual std::int64_t calls() const { return 1; }
};

class Merge {
 public:
  static constexpr const char* kNoun = "merge";
  /// What has the sum of a key.
  enum class Place {
    kGpu,  ///< one GPU, to which all others copy
    kHost,
    kEngine  ///< as the engine's operations have it, and as nothing else plays
  };
  virtual ~Merge() = default;
  virtual Place place() const = 0;
  /// What it adds up on: with hosts, where these have the sums.
  Machine machine(const Cluster& cluster) const {
    return Machine(cluster, {.hosts = place() == Place::kHost});
  }
  /// Whether keys that are pushed in one call, or pulled, are one operation.
  virtual bool takes_several_keys() const { return false; }
  /// Of a push, and of a pull; 1 where it makes no difference.
  std::int64_t keys_per_call() const { return keys_per_call_; }
  /// Bytes of the smallest key that is cut into slices, which may take less time than a smaller
  /// one.
  virtual std::optional<std::int64_t> cut(const Cluster& /*cluster*/) const { return std::nullopt; }
  /// Why the time of these keys is no better known, or "".
  virtual std::string outside_domain(std::span<const std::int64_t> /*bytes*/) const { return {}; }
  /// `bytes`: of every key, in forward order; `sharding`: which GPU adds up what, where that is to
  /// be chosen. The merge and the process must outlive what is returned.
  virtual std::unique_ptr<KvStore> init(NodeProcess& process, std::span<const std::int64_t> bytes,
                                        const Sharding& sharding) const = 0;

 private:
  friend std::unique_ptr<Merge> read_merge(const Config& c, const Cluster& cluster);
  std::int64_t keys_per_call_ = 1;
};
using Merges = Registry<Merge, const Cluster&>;

/// Of a single GPU: there is no kvstore, the main thread calls the optimizer for each key. Source:
/// apache/mxnet 1.3.1 python/mxnet/model.py, _create_kvstore and _update_params.
std::shared_ptr<const Merge> no_kvstore();

/// Of a single GPU on each node that meets others at servers: there is nothing to add up, its
/// gradient is copied to the host as it is, and from there what the servers made of it. Source:
/// apache/mxnet 1.3.1 src/kvstore/comm.h (Reduce, Broadcast), of one array.
std::shared_ptr<const Merge> merge_of_one_gpu();

/// A line through the times of a key of 0 B and one of 16 MB that are pushed and pulled alone,
/// where calls and operations cost nothing.
LinearCost cost_of_one_key(const Merge& merge, const Cluster& cluster, const Sharding& sharding);

/// The keys of those who choose a merge: `merge`, its object or its bare name; `keys_per_call`; and
/// `sharding`, of its keys.
const Params& merge_params();
/// What the first two of these say.
std::unique_ptr<Merge> read_merge(const Config& c, const Cluster& cluster);

/// Where a kvstore's keys are merged, or held. Throws InputError for a sharding of what no kvstore
/// has: buckets, or moving averages.
std::shared_ptr<const Sharding> read_key_sharding(const Config& c, const char* key);

}  // namespace steptime
