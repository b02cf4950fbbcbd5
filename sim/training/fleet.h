// The workers of a training run, with what they share: groups, servers, links. Which of these there
// are follows from the plan; what workers do with them, from their programs.
#pragma once
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/runtime/group.h"
#include "sim/runtime/mediums.h"
#include "sim/runtime/world.h"
#include "sim/servers/node_ports.h"
#include "sim/servers/piece_wire.h"
#include "sim/servers/port_wire.h"
#include "sim/servers/servers.h"
#include "sim/training/decider.h"
#include "sim/training/programs.h"
#include "sim/training/worker.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace steptime {

/// What collectives, pushes and pulls of a run go through.
class Roads {
 public:
  virtual ~Roads() = default;
  /// For the collectives among the workers of a client.
  virtual std::unique_ptr<Medium> medium(std::int32_t client, const Collective& collective) = 0;
  virtual std::unique_ptr<Wire> wire() = 0;
  /// What links have carried in so many seconds, for one of so many steps; none where there are
  /// none.
  virtual std::vector<LinkUse> links(double /*seconds*/, double /*steps*/) const { return {}; }
};
/// Closed forms and ports, or messages, as the plan plays them. All must outlive the result. Throws
/// InputError.
std::unique_ptr<Roads> make_roads(World& world, const TrainingPlan& plan);

/// Spawns the program of every worker.
class Fleet {
 public:
  Fleet(TrainingRun& training, Roads& roads);
  const Servers* servers() const { return servers_.get(); }
  const std::deque<Worker>& workers() const { return workers_; }
  void expect_over() const;

 private:
  void start_client(Worker& worker, Roads& roads);
  void start_meeting(Roads& roads);
  Group& add_group(Name name, std::size_t members, std::unique_ptr<Medium> medium);
  Decider* add_decider(Group& group);
  void watch(Group& group, std::vector<Worker*> workers, Decider* decider, const Meeting* meeting,
             Reduction::Then then);
  Sends sends(Worker& worker, Group& group, Decider* decider);
  void spawn(Worker& worker, Task program);

  TrainingRun& training_;
  const TrainingPlan& plan_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Servers> servers_;
  std::deque<Worker> workers_;
  std::deque<Group> groups_;
  std::deque<Decider> deciders_;
  std::deque<Reduction> reductions_;
  std::deque<Spread> spreads_;
  std::deque<std::unique_ptr<Client>> receivers_;
  std::optional<Meeting> meeting_;
};

}  // namespace steptime
