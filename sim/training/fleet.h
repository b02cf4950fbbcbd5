// The workers of a training run, with what they share: groups, servers, links. Which of these there
// are follows from the plan; what workers do with them, from their programs.
#pragma once
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/servers/servers.h"
#include "sim/training/decider.h"
#include "sim/training/kvstore_nodes.h"
#include "sim/training/programs.h"
#include "sim/training/roads.h"
#include "sim/training/worker.h"
#include "sim/workload/slowed_medium.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace steptime {

/// Spawns the program of every worker.
class Fleet {
 public:
  Fleet(TrainingRun& training, Roads& roads);
  /// Where all meet; null: nowhere.
  const Servers* servers() const {
    return kvstore_ != nullptr ? &kvstore_->servers() : servers_.get();
  }
  /// Pushes and pulls with bytes.
  std::int64_t messages() const;
  const std::deque<Worker>& workers() const { return workers_; }
  void expect_over() const;

 private:
  class Start;
  void make_servers(Roads& roads);
  void start_client(Worker& worker, Roads& roads);
  Sends exchange(Worker& worker, Client& receiver);
  void start_meeting(Roads& roads);
  using SlowdownOf = SlowedMedium::SlowdownOf;
  std::unique_ptr<Medium> slowed(std::unique_ptr<Medium> medium, const SlowdownOf& beside,
                                 std::vector<ComputingGpu*> workers);
  Group& add_group(Name name, std::size_t members, std::unique_ptr<Medium> medium);
  Decider* add_decider(Group& group);
  void watch(Group& group, std::vector<Worker*> workers, Decider* decider, const Meeting* meeting,
             Reduction::Then then);
  Reduction::Then back_to(std::vector<Client*> receivers, Decider* decider);
  Sends sends(Worker& worker, Group& group, Decider* decider);
  void spawn(Worker& worker, Task program);

  TrainingRun& training_;
  const TrainingPlan& plan_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Servers> servers_;
  std::unique_ptr<KvStoreNodes> kvstore_;  ///< with servers beyond the nodes, in their place
  std::deque<Worker> workers_;
  std::deque<Group> groups_;
  std::deque<Decider> deciders_;
  std::deque<Reduction> reductions_;
  std::deque<Spread> spreads_;
  std::deque<std::unique_ptr<Client>> receivers_;
  std::optional<Meeting> meeting_;
};

}  // namespace steptime
