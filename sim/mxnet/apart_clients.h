// Clients of servers that do not wait for each other, as their ranks go on in engines: which steps
// each plays, when these end, and what it learns. Ranks of one client are in step.
//
// What a client has pulled of a key it uses in the key's update; its gradient is that at the
// parameters which its forward pass has read, all of them updated by then.
#pragma once
#include "sim/events/engine.h"
#include "sim/mxnet/client_steps.h"
#include "sim/mxnet/rank_record.h"
#include "sim/servers/servers.h"
#include "sim/training/learner.h"
#include "sim/training/plan.h"
#include "sim/training/record.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace steptime {

class ApartClients final : public ClientSteps {
 public:
  /// `ranks`: of all clients. `learner`: null: nothing is learnt. All must outlive this.
  ApartClients(const TrainingPlan& plan, Engine& engine, std::int32_t ranks, Learner* learner);

  bool wants_step(std::int64_t step) override;
  bool counts(std::int64_t step) const override { return record_.counts(step); }
  Store* store() override { return learner_; }
  void missed_samples(std::int32_t rank, std::int64_t step, Duration time) override {
    if (is_first(rank)) record_.waits_for_input(step, time);
  }
  void forward_pass_ended(std::int32_t rank, std::int64_t step) override;
  void updated(std::int32_t rank, std::int32_t key, std::int64_t step) override;
  void operation_ended(std::int32_t rank, std::int64_t step) override;

  /// When the run is over, of the steps that are reported; but for links. `first`: what was seen of
  /// the first client. `computed`: by a client in a step. `causes`: null: nobody keeps them.
  using Computed = std::function<Duration(std::int64_t client, std::int64_t step)>;
  TrainingTimes times(const Servers& servers, const RankRecord& first, const Computed& computed,
                      const Causes* causes);
  /// Steps that every client has played.
  std::int64_t played() const { return record_.steps().played(); }

 private:
  bool is_first(std::int32_t rank) const { return rank % ranks_of_each_ == 0; }
  std::int32_t client_of(std::int32_t rank) const { return rank / ranks_of_each_; }

  const TrainingPlan& plan_;
  Engine& engine_;
  std::int32_t ranks_of_each_;
  Learner* learner_;
  Record record_;
  std::vector<std::size_t> updated_;  ///< by client: keys of its present step
};

}  // namespace steptime
