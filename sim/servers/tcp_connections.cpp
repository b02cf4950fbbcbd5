// How many: NCCL opens one socket for each of the two channels that a ring has at least (2.4 on;
// netmodels/libraries/nccl.cpp knows more where it is the collective); Open MPI one for each
// adapter (btl_tcp_links), which those that are built on it have, too: MVAPICH2, Baidu's ring,
// Horovod over MPI. Servers have theirs: server_port() of sim/servers/aggregation.h.
// Source: NVIDIA NCCL User Guide, NCCL_NSOCKS_PERTHREAD and NCCL_SOCKET_NTHREADS (1 each by
// default); Open MPI FAQ on TCP, btl_tcp_links.
#include "sim/servers/tcp_connections.h"

#include <limits>
#include <string>

namespace steptime {
namespace {

constexpr std::int64_t kOfNccl = 2;
constexpr std::int64_t kOfMpi = 1;
constexpr const char* kNccl = "nccl";

/// The collective that the aggregation names, or "".
std::string collective_of(const Config& strategy) {
  if (!strategy.has("aggregation")) return "";
  const Json& aggregation = strategy.raw("aggregation");
  const auto found = aggregation.is_object() ? aggregation.find("collective") : aggregation.end();
  if (!aggregation.is_object() || found == aggregation.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_object() && found->contains("type") && found->at("type").is_string()
             ? found->at("type").get<std::string>()
             : "";
}

/// Whether the collective is a library's by its name, and not a way to add up that any may take.
bool is_of_mpi(const std::string& collective) {
  return collective == "openmpi" || collective == "mvapich2-gdr" || collective == "mpi-opt" ||
         collective == "baidu-ring" || collective == "baidu";
}

}  // namespace

std::int64_t connections_of(const Config& strategy, const Transport& transport) {
  const std::string collective = collective_of(strategy);
  if (collective == kNccl || transport.backend->library() == kNccl) return kOfNccl;
  return strategy.has("transport") || is_of_mpi(collective) ? kOfMpi : kOfNccl;
}

std::shared_ptr<const Cluster> connected(std::shared_ptr<const Cluster> cluster,
                                         std::int64_t connections) {
  if (cluster->kind == nullptr || cluster->nodes == 1) return cluster;
  const auto rate = cluster->kind->together(connections);
  if (!rate || *rate == cluster->network.bandwidth) return cluster;
  auto faster = std::make_shared<Cluster>(*cluster);
  if (faster->gpu_to_gpu && faster->gpu_to_gpu->bandwidth >= faster->network.bandwidth)
    faster->gpu_to_gpu->bandwidth = *rate;
  faster->network.bandwidth = *rate;
  return faster;
}

Bandwidth most_of_port(const Cluster& cluster) {
  constexpr std::int64_t kMany = std::numeric_limits<std::int32_t>::max();
  const auto most = cluster.kind ? cluster.kind->together(kMany) : std::optional<Bandwidth>{};
  return most.value_or(cluster.network.bandwidth);
}

}  // namespace steptime
