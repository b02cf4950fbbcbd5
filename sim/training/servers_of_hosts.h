// The servers that nodes meet at with what each has added up. Their clients are the hosts of the
// nodes, each of which sends and receives through one thread, in the order in which things come.
#pragma once
#include "sim/core/units.h"
#include "sim/events/timeline.h"
#include "sim/runtime/world.h"
#include "sim/servers/piece_wire.h"
#include "sim/servers/servers.h"
#include "sim/training/plan.h"
#include "sim/training/roads.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace steptime {

/// Servers that change parameters as the plan's update says.
inline auto servers_for(const TrainingPlan& plan) {
  return plan.update->waits_for_all() ? synchronous_servers : asynchronous_servers;
}

class ServersOfHosts {
 public:
  /// The buckets of these servers are the plan's `pieces_beyond`, each of which has one of `names`
  /// in drawings. `timeline`: null: nothing is drawn. All else must outlive the servers.
  ServersOfHosts(World& world, const TrainingPlan& plan, Roads& roads, Timeline* timeline,
                 std::vector<std::string> names);
  ~ServersOfHosts();
  ServersOfHosts(const ServersOfHosts&) = delete;
  ServersOfHosts& operator=(const ServersOfHosts&) = delete;

  Servers& servers() const { return *servers_; }
  /// What a host does with a bucket.
  void draw(std::int32_t host, const char* lane, std::int32_t bucket, Time start, Time end);

 private:
  class Drawing;

  std::unique_ptr<Drawing> drawing_;  ///< null: nothing is drawn
  std::unique_ptr<PieceWire> wire_;
  std::unique_ptr<Servers> servers_;
};

}  // namespace steptime
