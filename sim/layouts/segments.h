// The passes of a stage as segments: layers that a rank works through without anything to wait for
// or to send but their own exchanges.
#pragma once
#include "sim/layouts/plan.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

/// What the time of a step was spent on.
using TimesSpent = std::array<Duration, kSpent>;
/// What a rank has exchanged with the groups of each kind, as their collectives count bytes.
using BytesOfGroups = std::array<std::int64_t, kGroupKinds>;

struct Segment {
  std::vector<const Leg*> legs;  ///< one layer's after another's
  TimesSpent spent{};            ///< with nothing else on their links
  Duration length{};             ///< the sum of that
  BytesOfGroups bytes{};
  Duration exchanging{};  ///< sum over all exchanges, each as long as it takes by itself
  std::int64_t exchanges = 0;
  /// Buckets of the stage whose weights must be there, from the last one down to this; as many as
  /// there are: none.
  std::size_t needs = 0;
  /// Buckets whose gradients are there at its end, in a backward pass: up to this one.
  std::size_t makes = 0;
};

/// What is left of a segment when so many of its legs are over.
Segment rest_of(const Segment& segment, std::size_t over);

/// Which of a layer's legs a pass goes through.
using LegsOf = std::span<Legs StageLayer::*const>;

/// From the first layer to the last. `cut`: it stops before the first layer of each bucket.
std::vector<Segment> forward_segments(const StageWork& stage, bool cut);
/// From the last layer to the first, each with the legs `of` it. `cut`: it stops behind the first
/// layer of each bucket, whose gradients are all there.
std::vector<Segment> backward_segments(const StageWork& stage, LegsOf of, bool cut);

/// What a rank works through for one of its chunks, by pass; empty for passes that its order has
/// none of.
struct ChunkPasses {
  const StageWork* stage = nullptr;
  std::vector<Segment> forward{};
  std::vector<Segment> first_forward{};  ///< waits for updated weights; empty: as the others
  std::vector<Segment> backward{};
  std::vector<Segment> last_backward{};  ///< makes buckets
  std::vector<Segment> input{};
  std::vector<Segment> weight{};
  std::vector<Segment> last_weight{};  ///< makes buckets

  const std::vector<Segment>& forward_of(std::int32_t micro_batch) const {
    return micro_batch > 0 || first_forward.empty() ? forward : first_forward;
  }
};
/// Of all chunks of a place of the pipeline, whose passes are those of `order`.
std::vector<ChunkPasses> passes_of(const LayoutPlan& plan, std::int32_t place,
                                   std::span<const Pass> order);

/// What a leg's time is spent on, with nothing else on its links.
Spent spent_on(GroupKind group);

}  // namespace steptime
