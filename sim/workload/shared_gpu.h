// A rank's GPU, where what it computes and what travels for it slow each other down while both are
// under way (sim/workload/slowed_medium.h).
#pragma once
#include "sim/events/callback.h"
#include "sim/events/engine.h"
#include "sim/runtime/world.h"
#include "sim/workload/slowed_medium.h"

#include <functional>
#include <utility>

namespace steptime {

class SharedGpu final : public ComputingGpu {
 public:
  /// `on_change`: called when it begins to compute, or stops; may be empty.
  explicit SharedGpu(World& world, std::function<void(bool computes)> on_change = {})
      : world_(world), on_change_(std::move(on_change)) {}

  /// `over` is called, in that phase, when so much has been computed: one piece of work at a time.
  /// Those that follow each other at one instant are one stretch, so that nothing is rounded where
  /// one ends and the next begins.
  void compute(Duration work, Phase phase, Callback over);
  bool computes() const override { return computes_; }

 private:
  void change_speed() override;
  void await_end();
  void end_work();
  void stop();
  void tell_all() const;

  World& world_;
  std::function<void(bool computes)> on_change_;
  bool is_busy_ = false;  ///< work is under way
  Phase phase_ = Phase::kNormal;
  Callback over_{};
  Progress stretch_;
  Duration work_{};        ///< work of the present stretch, up to the end of what is under way
  bool computes_ = false;  ///< up to the end of an instant at which work ends
  EventId end_{};
  EventId stop_{};
};

}  // namespace steptime
