#include "sim/collective/message_collective.h"

#include "sim/collective/message_time.h"
#include "sim/core/limits.h"

#include <algorithm>

namespace steptime {

Duration MessageCollective::time(Bytes m) const {
  const std::lock_guard lock(mutex_);
  const auto known = times_.find(m.count);
  if (known != times_.end()) return known->second;
  if (!machine_) machine_.emplace(cluster_);
  return times_[m.count] = played(programs(m));
}

Duration MessageCollective::played(const Programs& programs) const {
  if (const auto symmetric =
          symmetric_time(programs, *machine_, cluster_.reduction, cluster_.messages)) {
    return *symmetric;
  }
  check_events(play_cost(programs, *machine_), "/strategy/aggregation/collective",
               "messages of two links", "collectives with a closed form need not play any");
  return played_time(programs, *machine_, cluster_.reduction, cluster_.messages, this);
}

std::vector<Stage> MessageCollective::stages(Bytes m) const {
  // A message of no bytes may take longer than a larger one: where eager ones have more overhead.
  const Duration whole = time(m);
  const Duration first = std::min(startup(), whole);
  return {{where(), first, whole - first}};
}

}  // namespace steptime
