// The inside of a node as a picture for Graphviz.
#pragma once
#include "sim/network/topology.h"

#include <string>

namespace steptime {

/// GPUs on a circle, what joins them inside it, the way to the host and to the network outside.
std::string drawing(const Topology& node);

}  // namespace steptime
