// A step of a layout: its ranks' programs, played on one clock.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/events/timeline.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/rank_memory.h"
#include "sim/layouts/segments.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

/// What the ranks of one place in the pipeline did: where they do not move as one, the rank of
/// them that ends last.
struct StageTimes {
  Duration end{};         ///< of their step
  TimesSpent spent{};     ///< adds up to the step of the whole
  BytesOfGroups bytes{};  ///< that each of them has exchanged
  Duration exchanging{};  ///< of its exchanges, each by itself
  std::int64_t exchanges = 0;
  std::int64_t peak = 0;  ///< of its memory, B
  RankMemory::Parts at_peak{};
  Duration peak_at{};
  RankMemory::Parts left{};  ///< when the step is over
};

struct LayoutTimes {
  Duration step{};
  std::vector<StageTimes> ranks;  ///< of the pipeline
  std::size_t last = 0;           ///< who ends last, of equal ones the first
  std::uint64_t fingerprint = 0;
  std::int64_t messages = 0;  ///< that the network has delivered; 0 in closed form
  std::vector<LinkUse> links{};
  double busiest = 0;  ///< of the step, how long the busiest link works that exchanges share
  /// Who holds the most.
  std::size_t fullest() const;
  /// The ranks' own ends are known: what follows from all of them.
  void close();
};

/// A step that was played, beside what it was planned as.
struct PlayedLayout {
  std::shared_ptr<const LayoutPlan> plan;
  LayoutTimes times;

  /// Whether the fullest rank holds no more than its device; true where that is not known.
  bool fits() const {
    const auto& device = plan->work.device;
    return !device || times.ranks[times.fullest()].peak <= device->count;
  }
};

/// How a step is played; what comes out is the same (fast_paths.h).
enum class PlayedBy : std::uint8_t {
  kFastest,   ///< fast paths where their conditions hold, else programs
  kPrograms,  ///< the ranks' programs, with fast paths inside them
  kOnlyPrograms,
};

/// Throws ModelFailure when ranks wait for each other.
LayoutTimes play_layout(const LayoutPlan& plan, Timeline* timeline = nullptr,
                        PlayedBy by = PlayedBy::kFastest);

}  // namespace steptime
