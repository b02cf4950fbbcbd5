// All-reduces by way of servers: what the ranks of a client have summed goes to these, and what
// comes back goes to all of them; a call returns with that. A client of one rank has no sum to
// make (001 section 4: MPI clients of servers). Where clients train parameters of their own, sums
// of gradients stay in the client, and parameters, which its ranks have all, go to the servers.
#pragma once
#include "sim/mxnet/client_steps.h"
#include "sim/mxnet/rank_calls.h"
#include "sim/mxnet/rank_gpus.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/servers/servers.h"
#include "sim/servers/wire.h"
#include "sim/training/plan.h"
#include "sim/training/roads.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace steptime {

class ServedCalls final : public KeyCalls {
 public:
  /// `plan`: of a run with servers. `ranks`: who calls, as many for each client. The listener hears
  /// of the first client. `gpus`: beside which a client's sums and broadcasts travel; null: neither
  /// slows the other down. All must outlive this. Throws InputError.
  ServedCalls(World& world, const TrainingPlan& plan, std::int32_t ranks, CallListener& listener,
              ClientSteps& steps, RankGpus* gpus = nullptr);
  ~ServedCalls() override;

  std::uint64_t call(std::int32_t rank, CallSubject subject, When when, Callback returns) override;
  Time returns_not_before(std::uint64_t call) const override;
  void expect_over() const override;
  std::vector<StuckCall> stuck() const override;
  std::vector<LinkUse> links(double seconds, double steps) const override {
    return roads_->links(seconds, steps);
  }
  const Servers* servers() const override { return servers_.get(); }

 private:
  /// The calls of a client's ranks for a key in a step.
  struct Calls {
    std::int64_t step = 0;
    When last{};
    std::vector<std::pair<std::int32_t, Callback>>
        made{};  ///< the ranks that have called, and what returns to each
  };
  class OfClient;
  class Chosen;

  std::size_t ranks_of_each() const {
    return ranks_ / static_cast<std::size_t>(plan_.aggregation.clients);
  }
  const std::vector<std::unique_ptr<OfClient>>& clients_of(Payload payload) const {
    return payload == Payload::kGradient ? clients_ : parameters_;
  }
  using Slows = std::unique_ptr<Medium> (RankGpus::*)(std::unique_ptr<Medium>, RankGpus::Part);
  /// What a collective of a client goes through.
  std::unique_ptr<Medium> slowed(std::int32_t client, const Collective& collective, Slows slows);

  World& world_;
  const TrainingPlan& plan_;
  std::size_t ranks_;
  CallListener& listener_;
  ClientSteps& steps_;
  RankGpus* gpus_;
  std::unique_ptr<Roads> roads_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Servers> servers_;
  std::vector<std::unique_ptr<OfClient>> clients_;     ///< their gradients
  std::vector<std::unique_ptr<OfClient>> parameters_;  ///< theirs, where these are what they send
};

}  // namespace steptime
