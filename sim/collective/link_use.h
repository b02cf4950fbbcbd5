// What each link of a cluster carries: for one collective that has it for itself, or in a run.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/json.h"
#include "sim/network/cluster.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// One direction of a link inside a node, on the node where it is busiest; or, with no `kind`, the
/// busiest channel of what connects the nodes.
struct LinkUse {
  std::string from;  ///< vertices of the node's graph; of a node without one, "gpu0" and "switch"
  std::string to;
  std::string kind;
  Bandwidth bandwidth{};  ///< without kernels beside it, which may slow it down
  std::int64_t bytes = 0;
  /// Share of the time, 0 to 1, that its bytes take at its bandwidth; the busiest link limits.
  double busy = 0;
};

/// How long a network has carried messages, for how many steps, and whether the hosts of nodes are
/// endpoints of its machine. Of a run that is played until its steps are alike, all that are played
/// count, with those before: bytes = bandwidth * busy * seconds / steps, also where a step that is
/// reported takes less.
struct Carried {
  double seconds = 0;
  double steps = 1;
  bool by_hosts = false;
};
/// Those that carry anything, the busiest first. Bytes are those of a step.
std::vector<LinkUse> link_uses(const Cluster& cluster, const Machine& machine,
                               const Network& network, const Carried& carried);
/// `bytes`: of each channel of the machine.
std::vector<LinkUse> link_uses(const Cluster& cluster, const Machine& machine,
                               std::span<const std::int64_t> bytes, const Carried& carried);
/// The same for one collective of `m` bytes, which has the links for itself. Throws PlacedError
/// when it is known by its time only, or has too many messages.
std::vector<LinkUse> link_uses(const Collective& collective, const Cluster& cluster, Bytes m);
/// What each channel carries for it, and how long that takes.
struct CarriedAlone {
  std::vector<std::int64_t> bytes;
  Duration time{};
};
CarriedAlone carried_alone(const Collective& collective, const Cluster& cluster,
                           const Machine& machine, Bytes m);

/// from, to, kind, bandwidth_GBps, bytes, busy.
Json links_json(std::span<const LinkUse> links);

}  // namespace steptime
