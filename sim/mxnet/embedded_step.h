// What a run in a framework's engine gives.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/core/units.h"
#include "sim/mxnet/rank_record.h"
#include "sim/step/step.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

/// How much Funnel's step can exceed DepCha's when calls are cheap in DepCha, by key order, with
/// compute C = forward F + backward B, total communication S, n keys and Funnel's serial cost d per
/// key. Forward order: nothing can be sent before the backward pass ends, and
///
///   Funnel / DepCha = (C + S + n d) / (B + max(F, S)).
///
/// which for B = 2F is at most 4/3 + n d / C. Backward order: the backward pass hides both;
/// Funnel's next forward pass waits for the last key, F + max(B, S + n d), DepCha's overlaps:
/// max(C, S).
struct FunnelBounds {
  Duration serial{};  ///< n d: calls, pushes and wake-ups of the main thread, copies to the host
  double forward_order = 0;
  double backward_order = 0;
};

struct EmbeddedStep {
  StepTimes times;
  Attribution attribution;
  std::optional<FunnelBounds> bounds;
  std::vector<BucketTimes> buckets;  ///< by bucket of the plan
  std::vector<LinkUse> links{};      ///< where a kvstore's merge was played
  std::optional<double> messages{};  ///< pushes and pulls with bytes in a step, at servers
  std::vector<Duration> ends{};      ///< when steps from the first one on ended, where asked for
  /// From the start of the first step to the end of its last operation: nothing of a step before
  /// it shortens or delays it. Of a kvstore's merge without the steps that follow; where
  /// keys travel in every k-th step only, the mean of the first k.
  Duration cold{};
  std::int64_t simulated_ranks = 1;
};

}  // namespace steptime
