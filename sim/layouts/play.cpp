#include "sim/layouts/play.h"

#include "sim/core/fingerprint.h"
#include "sim/layouts/rank_program.h"
#include "sim/layouts/roads.h"
#include "sim/layouts/stage_rank.h"
#include "sim/runtime/mediums.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

namespace steptime {

std::size_t LayoutTimes::fullest() const {
  const auto fullest =
      std::max_element(ranks.begin(), ranks.end(),
                       [](const StageTimes& a, const StageTimes& b) { return a.peak < b.peak; });
  return static_cast<std::size_t>(fullest - ranks.begin());
}

LayoutTimes play_layout(const LayoutPlan& plan, Timeline* timeline, bool folds) {
  World world;
  AloneRoads roads(world);
  const auto pipeline = static_cast<std::size_t>(plan.layout.pipeline());
  Group all(world, {"all ranks"}, pipeline, std::make_unique<NoMedium>(world));
  std::optional<Group> ends;
  if (plan.tied.count > 0) {
    ends.emplace(world, Name{"first and last rank"}, 2,
                 roads.medium(0, GroupKind::kEnds, *plan.costs(GroupKind::kEnds).all_reduce));
  }
  LayoutRun run{world, plan, roads, all, ends ? &*ends : nullptr, timeline, folds};
  std::deque<StageRank> ranks;
  for (std::int32_t r = 0; r < plan.layout.pipeline(); ++r)
    ranks.emplace_back(run, r);
  for (std::size_t r = 0; r < pipeline; ++r) {
    ranks[r].join(ranks[(r + pipeline - 1) % pipeline], ranks[(r + 1) % pipeline]);
    world.spawn({"rank", static_cast<std::int64_t>(r)}, trains_a_step(ranks[r]));
  }
  world.run();
  world.expect_over();

  LayoutTimes times{.fingerprint = kFingerprintSeed};
  for (const StageRank& rank : ranks) {
    const RankMemory::Peak peak = rank.memory().peak();
    times.ranks.push_back({.end = since_start(rank.ended()),
                           .spent = rank.spent(),
                           .bytes = rank.bytes(),
                           .exchanging = rank.exchanging(),
                           .exchanges = rank.exchanges(),
                           .peak = peak.bytes,
                           .at_peak = peak.parts,
                           .peak_at = since_start(peak.since),
                           .left = rank.memory().held()});
    times.step = std::max(times.step, times.ranks.back().end);
  }
  for (std::size_t r = pipeline; r-- > 0;) {
    StageTimes& rank = times.ranks[r];
    if (rank.end == times.step) times.last = r;
    rank.spent[static_cast<std::size_t>(Spent::kBubble)] += times.step - rank.end;
    times.fingerprint =
        mix(times.fingerprint, static_cast<std::uint64_t>(rank.end.count() + rank.peak));
  }
  return times;
}

}  // namespace steptime
