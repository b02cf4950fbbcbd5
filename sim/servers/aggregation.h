// Who adds up what the workers send. An aggregation divides the workers into
// clients (MPI groups that all-reduce inside) and says which parameter servers they talk to. It is
// data, read by files in schedulers/.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/binding.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/learning/update.h"
#include "sim/network/cluster.h"
#include "sim/servers/placement.h"
#include "sim/servers/requests.h"
#include "sim/servers/server_costs.h"
#include "sim/servers/sharding.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace steptime {

/// Copies of a GPU at message fidelity, its own and, from a host, those to it.
struct CopyQueue {
  std::int64_t threads = 0;      ///< copies that are under way at once; 0: any number
  bool first_key_first = false;  ///< else the last key, whose bucket is ready first
  /// MXNet's priority of key number k, where the highest goes first, is this times k.
  std::int32_t priority() const { return first_key_first ? -1 : 1; }
};

/// Parameter servers that are alike. A server is one thread, which takes requests in the order in
/// which they arrive, or what waits from a heap.
struct ServerGroup {
  std::int64_t count = 0;
  const Placement* placement = &own_nodes();
  std::optional<Bandwidth> rate;  ///< what the thread handles, in and out together; none: no limit
  Duration request_time{};        ///< what the thread takes per push and per pull
  TimePerByte update;             ///< what it takes each time that parameters change
  const Requests* requests = &requests_named("push-pull");
  bool takes_from_heap = false;  ///< requests that wait, as ps-lite since MXNet 1.7.0
  bool pulls_in_order = false;   ///< where the next step pulls: in forward order; else at random
  /// On a node with workers: how many neighbours share a link to their host.
  std::int64_t workers_per_host_link = 1;
  std::shared_ptr<const Sharding> sharding;
  CopyQueue copies{};

  ServerCosts costs() const { return {rate, update, request_time}; }
};

/// Servers that the nodes meet at with what their own workers have added up, through one thread on
/// the host of each node.
struct ServersBeyond {
  ServerGroup servers;
  std::optional<Bandwidth>
      client_rate;  ///< what a host's thread handles, in and out; none: no limit
};

/// The thread of a node that issues the pushes and pulls of its workers, in forward order of keys.
struct IssuingThread {
  Duration push{};           ///< per key
  Duration pull{};           ///< per key
  bool pushes_first = true;  ///< all pushes, then all pulls; else both of a key, then the next key
  bool any() const { return push > Duration{} || pull > Duration{}; }
};

class Merge;

struct Aggregation {
  static constexpr const char* kNoun = "aggregation";
  std::int64_t clients = 1;                  ///< divides the number of workers
  std::shared_ptr<const Collective> inside;  ///< all-reduce over the workers of one client
  /// The same on links as they are while kernels run. Null: no slower there.
  std::shared_ptr<const Collective> beside_kernels{};
  std::shared_ptr<const Collective> spread_beside_kernels{};  ///< in the same way, `spread`
  ServerGroup servers{};                                      ///< count 0: pure MPI
  /// What a pull brought, from rank 0 to the other workers of a client. Null: clients of one
  /// worker.
  std::shared_ptr<const Collective> spread{};
  bool gathers = false;  ///< `spread` completes what `inside` leaves in parts
  /// How a kvstore without servers adds up on its one node, as operations of an engine
  /// (sim/mxnet/merge.h).
  std::shared_ptr<const Merge> merge{};
  /// How the process of each node adds up what it pushes to servers, where its operations are
  /// played, as `merge` says without servers.
  std::shared_ptr<const Merge> merge_in_nodes{};
  /// Of a kvstore on a single GPU, which has nobody to add up with: what its process does instead.
  std::shared_ptr<const Merge> alone{};
  std::int64_t merge_threads = 4;  ///< the process adds up in host memory with as many
  /// What a schedule reckons a message with: from ready to back everywhere, when nothing else is
  /// sent. Null: as `inside`.
  std::shared_ptr<const Collective> whole{};
  /// Then `servers` are those of each node, and its workers their clients.
  std::optional<ServersBeyond> beyond{};
  IssuingThread issuing{};
  /// What of its cluster's fabric closed forms do not know, in words; "": nothing.
  std::string unknown_fabric{};

  /// Where clients meet last.
  const ServerGroup& last_servers() const { return beyond ? beyond->servers : servers; }
  /// Whether what they exchange with servers goes through their own nodes.
  bool meets_in_nodes() const {
    return beyond || (servers.count > 0 && servers.placement->more_nodes(servers.count) == 0);
  }
};
using Aggregations = Registry<Aggregation, const Cluster&>;

/// The keys of parameter servers.
const Bindings<ServerGroup>& server_keys();

/// What a node's port to the network carries for servers and their clients: all connections of the
/// end that has more of them, a client to all servers or a server to all clients, as that is the
/// busier end. A client of several nodes has one connection's.
Bandwidth server_port(const Cluster& cluster, std::int64_t clients, const ServerGroup& servers);
/// That of an aggregation; without servers one connection's.
Bandwidth network_port(const Cluster& cluster, const Aggregation& aggregation);

/// N M beta / S + startups in each direction: N clients push M bytes, spread evenly over S servers
/// on ports of their own, and pull them.
LinearCost server_cost(const Cluster& cluster, std::int64_t clients, const ServerGroup& servers);

/// What closed forms of an aggregation on a cluster take for one switch that is not as good as
/// that, in words; "": nothing, or messages of its own stand for it.
std::string unknown_fabric(const Cluster& cluster, const Aggregation& aggregation);

/// The "collective" of `config`. Throws InputError.
std::unique_ptr<Collective> read_collective(const Config& config, const Cluster& cluster);

/// What a collective among the workers of one of `clients` clients runs on. Throws InputError when
/// `clients` does not divide the workers.
Cluster client_cluster(const Cluster& cluster, std::int64_t clients, const Config& config);

/// Throws InputError, through `strategy`, for an aggregation that does not leave every worker with
/// the sum, and for an update that it cannot carry out.
void check_update(const Config& strategy, const Aggregation& aggregation, const Update& update);

}  // namespace steptime
