// The links of a graph as configs list them: those inside a node, and those between switches.
#pragma once
#include "sim/config/config.h"
#include "sim/network/topology.h"

#include <map>
#include <string>

namespace steptime {

/// Adds those of the section's "links" to a graph whose vertices have these names. Throws
/// InputError.
void read_links(const Config& section, const std::map<std::string, Topology::Vertex>& by_name,
                Topology& topology);
/// Of the section's "routes".
RouteMetric read_metric(const Config& section);

/// The keys "links" and "routes".
Param links_param();
Param routes_param();

}  // namespace steptime
