// All-reduces as their messages, for message fidelity: those of all that are in flight meet on the
// links of one network.
#pragma once
#include "sim/collective/collective.h"
#include "sim/collective/collective_player.h"
#include "sim/mxnet/collectives_in_flight.h"
#include "sim/mxnet/training_graph.h"
#include "sim/network/cluster.h"
#include "sim/network/machine.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace steptime {

class PlayedCollectives final : public CollectivesInFlight, private CollectiveUser {
 public:
  /// The collective must be made of messages. All references must outlive this. Throws PlacedError
  /// when the cluster has no route between two workers.
  PlayedCollectives(Engine& clock, const TrainingGraph& graph, const Cluster& cluster,
                    const Collective& collective);

  void start(std::int32_t key, Callback done) override;
  /// Traffic can speed a collective up that gets in its own way, so that its time alone is no
  /// bound.
  Duration least(std::int32_t /*key*/) const override { return {}; }

  void expect_over() const override;

  /// About how many messages of two links each an all-reduce of every key would be.
  double play_cost() const;

 private:
  struct Flight {
    std::unique_ptr<CollectivePlayer> player;  ///< null: the place is free
    Callback done;
  };
  void over(std::int32_t place) override;
  void start_all();
  const Programs& programs(std::int32_t key);

  Engine& clock_;
  const TrainingGraph& graph_;
  const Cluster& cluster_;
  const Collective& collective_;
  Machine machine_;
  Network network_;
  std::map<std::int64_t, Programs> programs_;  ///< by bytes
  std::vector<Flight> flights_;
  /// Those that start at this instant, in the order of their keys: which rank called last, and so
  /// who started first, does not matter.
  std::map<std::int32_t, Callback> starting_;
};

}  // namespace steptime
