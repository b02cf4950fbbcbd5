// Shipped machines, as JSON and as clusters.
#pragma once
#include "sim/config/data_dir.h"
#include "sim/config/json.h"
#include "sim/network/cluster.h"
#include "sim/network/read_cluster.h"
#include "tests/support/config_text.h"

#include <cstdint>
#include <string>

namespace steptime {

inline Json preset_file(const std::string& name) {
  const std::string path = (data_dir() / "netmodels" / "presets" / (name + ".json")).string();
  return parse_json(read_file(path), path);
}

/// The machine as shipped, or with another number of nodes or of GPUs in each.
inline Cluster preset_cluster(const std::string& name) {
  return read_cluster(config_of(Json{{"preset", name}}.dump(), cluster_params()));
}
inline Cluster preset_cluster(const std::string& name, std::int64_t nodes, std::int64_t gpus) {
  const Json section{{"preset", name}, {"nodes", nodes}, {"gpus_per_node", gpus}};
  return read_cluster(config_of(section.dump(), cluster_params()));
}

/// The most GPUs that a node of the machine has.
inline std::int64_t gpus_of(const Cluster& cluster) {
  return cluster.node == nullptr ? cluster.gpus_per_node
                                 : std::ssize(cluster.node->of_kind(VertexKind::kGpu));
}

}  // namespace steptime
