// The "cluster" section of an experiment: a preset with overrides, or spelled out.
#pragma once
#include "sim/network/cluster.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

const Params& cluster_params();
const Params& message_params();

Cluster read_cluster(const Config& section);
/// The same in two steps, where the network stays as it is while other keys change: what connects
/// the nodes, and the cluster that it connects.
std::shared_ptr<const NetworkKind> read_network(const Config& section);
Cluster read_cluster(const Config& section, std::shared_ptr<const NetworkKind> network);

/// The section with its preset's keys written out beneath its own; as it is where the preset is a
/// file.
Json resolved_preset(const Json& section);

/// The same of a section that is read, the keys of a preset that is a file included.
Json with_preset(const Config& section);

/// Names of the shipped presets (netmodels/presets/*.json), each with its one-line description.
std::vector<std::pair<std::string, std::string>> cluster_presets();

}  // namespace steptime
