// Whether what connects the nodes of a cluster is as good as one switch, which closed forms take it
// for that know no fabric.
#pragma once
#include "sim/network/cluster.h"

namespace steptime {

/// No message between two ports meets a longer latency or a smaller bandwidth than at one switch,
/// also where every port sends to the one that is a number of ports before or behind it: any number
/// up to 128 ports, beyond that the powers of two.
bool is_like_one_switch(const Cluster& cluster);

}  // namespace steptime
