// All-reduces by their closed form, for analytic fidelity: start-ups overlap, and the work that
// follows shares one channel equally, as if all ran on the same links.
#pragma once
#include "sim/events/shared_channel.h"
#include "sim/mxnet/collectives_in_flight.h"
#include "sim/mxnet/training_graph.h"

#include <cstdint>

namespace steptime {

class ClosedCollectives final : public CollectivesInFlight {
 public:
  /// Both must outlive this.
  ClosedCollectives(Engine& clock, const TrainingGraph& graph) : channel_(clock), graph_(graph) {}

  void start(std::int32_t key, Callback done) override {
    channel_.start(cost(key).startup, cost(key).work, done);
  }
  Duration least(std::int32_t key) const override { return cost(key).startup + cost(key).work; }

 private:
  const AllReduceCost& cost(std::int32_t key) const {
    return graph_.keys[static_cast<std::size_t>(key)].cost;
  }

  SharedChannel channel_;
  const TrainingGraph& graph_;
};

}  // namespace steptime
