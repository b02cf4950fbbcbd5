// MXNet's kvstore with servers: the workers of a node push to where the node adds up, and the hosts
// of the nodes meet at servers, as clients of their own, piece by piece. Pieces of a node do not
// wait for each other.
//
//   push of every worker -> sum in the node -> copy to the host -> push -> pull -> copy to where
//   the sum was -> values to every worker
//
// Sums on the host need no copies. A host's thread handles what it sends and receives in the order
// in which it comes, and a push leaves when the thread is through with it. Where a thread issues
// pushes and pulls, nothing of a bucket is sent before its push, and nothing comes back, nor is
// asked for beyond the node, before its pull.
#pragma once
#include "sim/servers/servers.h"
#include "sim/servers/wire.h"
#include "sim/training/roads.h"
#include "sim/training/servers_of_hosts.h"
#include "sim/training/worker.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

class KvStoreNodes {
 public:
  /// `store`: the values on the servers; null: nothing is learnt. All must outlive the nodes.
  KvStoreNodes(TrainingRun& training, Roads& roads, Store* store);
  ~KvStoreNodes();
  KvStoreNodes(const KvStoreNodes&) = delete;
  KvStoreNodes& operator=(const KvStoreNodes&) = delete;

  /// A worker has a bucket; `who` hears when it has the values back.
  void exchange(const Worker& worker, std::int32_t bucket, Client& who);

  /// Those at which the nodes meet.
  const Servers& servers() const { return beyond_->servers(); }
  /// Messages with bytes, copies between hosts and where nodes add up among them.
  std::int64_t messages() const;

 private:
  class Node;
  class NodeDrawing;
  /// A piece of a bucket that every node adds up: a bucket of the servers beyond.
  struct Sum {
    std::int32_t bucket;
    std::uint32_t first_of_bucket;
  };

  TrainingRun& training_;
  std::int32_t per_node_;  ///< workers
  bool copies_;            ///< between the host and where a node adds up
  Reason issues_;
  std::vector<Sum> sums_;  ///< one for every piece of every bucket
  std::unique_ptr<ServersOfHosts> beyond_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace steptime
