// What comes of a step of a layout, by place of the pipeline.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/rank_memory.h"
#include "sim/layouts/segments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

/// What the ranks of one place in the pipeline did: where they do not move as one, the rank of
/// them that ends last.
struct StageTimes {
  Duration end{};         ///< the end of the ranks' step
  TimesSpent spent{};     ///< adds up to the step of the whole
  BytesOfGroups bytes{};  ///< bytes that each of the ranks has exchanged, by group
  Duration exchanging{};  ///< sum over the exchanges, each as long as it takes by itself
  std::int64_t exchanges = 0;
  std::int64_t peak = 0;  ///< the most that was held of its memory, B
  RankMemory::Parts at_peak{};
  Duration peak_at{};
  RankMemory::Parts left{};  ///< when the step is over
};

struct LayoutTimes {
  Duration step{};
  std::vector<StageTimes> ranks;  ///< one for each rank of the pipeline
  std::size_t last = 0;           ///< who ends last, of equal ones the first
  std::uint64_t fingerprint = 0;
  std::int64_t messages = 0;  ///< messages that the network has delivered; 0 in closed form
  std::vector<LinkUse> links{};
  std::int64_t left_out = 0;  ///< periods that were not played (repetition.h)
  /// How long the step of one replica alone takes, where the whole one tells; none: it must be
  /// played.
  std::optional<Duration> replica{};
  double busiest = 0;  ///< share of the step in which the busiest link works that exchanges share

  /// Who holds the most.
  std::size_t fullest() const {
    const auto most =
        std::max_element(ranks.begin(), ranks.end(),
                         [](const StageTimes& a, const StageTimes& b) { return a.peak < b.peak; });
    return static_cast<std::size_t>(most - ranks.begin());
  }
  /// The ranks' own ends are known: what follows from all of them.
  void close() {
    for (std::size_t r = ranks.size(); r-- > 0;) {
      StageTimes& rank = ranks[r];
      if (rank.end == step) last = r;
      rank.spent[static_cast<std::size_t>(Spent::kBubble)] += step - rank.end;
    }
  }
};

}  // namespace steptime
