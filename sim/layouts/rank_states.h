// What a rank of a place of the pipeline holds all the time, and how long it updates that.
#pragma once
#include "sim/layouts/plan.h"
#include "sim/layouts/rank_memory.h"

#include <cstdint>
#include <optional>

namespace steptime {

/// Parameters of all stages of the place.
inline std::int64_t params_of(const LayoutPlan& plan, std::int32_t place) {
  std::int64_t params = 0;
  for (std::int32_t c = 0; c < plan.order->chunks(); ++c)
    params += plan.stage(place, c).params;
  return params;
}

/// Weights, gradients and optimizer's states, and the context of the driver.
inline void hold_states(RankMemory& memory, const LayoutPlan& plan, std::int32_t place, Time now) {
  const StateParts parts = plan.parts();
  const ParameterBytes& bytes = plan.work.parameter;
  const std::int64_t params = params_of(plan, place);
  const auto cut = [params](std::int64_t each, std::int64_t into) {
    return Bytes{(params * each + into - 1) / into};
  };
  memory.acquire(HeldFor::kContext, plan.work.context, now);
  memory.acquire(HeldFor::kWeights, cut(bytes.weight, parts.weights), now);
  memory.acquire(HeldFor::kGradients, cut(bytes.gradient, parts.gradients), now);
  memory.acquire(HeldFor::kOptimizer, cut(bytes.optimizer, parts.optimizer), now);
}

/// Whether a step begins by gathering weights that ranks have updated in parts.
inline bool gathers_updates(const LayoutPlan& plan) {
  return plan.states->gathers_updates() && plan.shard_group() > 1;
}

/// How units are gathered whose weights are held in parts; none: they are there all the time.
inline std::optional<UnitGathering> gathering_of(const LayoutPlan& plan) {
  auto gathering = plan.states->gathering(plan.layout.pipeline() > 1);
  if (!gathering || plan.parts().weights == 1) return std::nullopt;
  // One unit at a time is asked for when nothing is computed.
  if (!plan.beside.weights) gathering->at_once = 1;
  return gathering;
}

/// Time to update one of so many parts of the optimizer's states; 0 where nothing is updated.
inline Duration update_time(const LayoutPlan& plan, std::int32_t place, std::int64_t parts) {
  if (!plan.work.update) return {};
  return plan.work.update((params_of(plan, place) + parts - 1) / parts);
}

}  // namespace steptime
