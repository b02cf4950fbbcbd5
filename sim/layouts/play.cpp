#include "sim/layouts/play.h"

#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/core/fingerprint.h"
#include "sim/layouts/earliest_rank.h"
#include "sim/layouts/earliest_starts.h"
#include "sim/layouts/passes_in_order.h"
#include "sim/layouts/rank_program.h"
#include "sim/layouts/repetition.h"
#include "sim/layouts/roads.h"
#include "sim/layouts/stage_rank.h"
#include "sim/runtime/mediums.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

namespace steptime {

namespace {

StageTimes times_of(const StageRank& rank) {
  const RankMemory::Peak peak = rank.memory().peak();
  return {.end = since_start(rank.ended()),
          .spent = rank.spent(),
          .bytes = rank.bytes(),
          .exchanging = rank.exchanging(),
          .exchanges = rank.exchanges(),
          .peak = peak.bytes,
          .at_peak = peak.parts,
          .peak_at = since_start(peak.since),
          .left = rank.memory().held()};
}

struct PlayedStep {
  const LayoutPlan& plan;
  const StepPasses& passes;
  Timeline* timeline = nullptr;
};

/// None: ranks wait for each other behind what was left out, or the step takes so long that the
/// whole of it may be refused: only that can tell.
std::optional<LayoutTimes> play_programs(const PlayedStep& step, bool leaves_out) {
  const LayoutPlan& plan = step.plan;
  const std::int32_t places = plan.layout.pipeline();
  World world;
  const auto roads = plan.roads->make(world, plan);
  const std::vector<std::int32_t> programs = roads->programs();
  Group all(world, {"all ranks"}, programs.size(), std::make_unique<NoMedium>(world));
  Repetition repetition(world, plan, step.passes.order, leaves_out);
  LayoutRun run{world, plan, *roads, all, step.passes.chunks, repetition, step.timeline};

  std::deque<StageRank> ranks;
  for (std::size_t program = 0; program < programs.size(); ++program)
    ranks.emplace_back(run, programs[program], program);
  const auto count = [&] {
    Repetition::Count count{
        .at = world.now(), .shared_since = roads->shared_since(), .carried = roads->carried()};
    for (const StageRank& rank : ranks)
      count.ranks.push_back(times_of(rank));
    return count;
  };
  repetition.count_by(
      count, [&](std::size_t place, const RankMemory::Parts& added) { ranks[place].holds(added); });
  const auto beside = [&](std::size_t program, std::int32_t away) -> StageRank& {
    Coordinates at = plan.layout.coordinates(programs[program]);
    std::int32_t& place = at[static_cast<std::size_t>(Dimension::kPipeline)];
    place = (place + places + away) % places;
    const auto other = std::lower_bound(programs.begin(), programs.end(), plan.layout.rank(at));
    return ranks[static_cast<std::size_t>(other - programs.begin())];
  };
  for (std::size_t program = 0; program < ranks.size(); ++program) {
    ranks[program].join(beside(program, -1), beside(program, 1));
    world.spawn({"rank", programs[program]}, trains_a_step(ranks[program]));
  }
  world.run();
  try {
    world.expect_over();
    for (const StageRank& rank : ranks)
      rank.expect_over();
  } catch (const ModelFailure&) {
    if (repetition.left_out() == 0) throw;
    return std::nullopt;
  }

  LayoutTimes times{.fingerprint = kFingerprintSeed,
                    .messages = roads->messages(),
                    .left_out = repetition.left_out()};
  times.ranks.resize(static_cast<std::size_t>(places), {.end = Duration::min()});
  spdlog::debug("programs of {} places, {} micro-batches: {} periods left out", places,
                plan.micro_batches, repetition.left_out());
  for (const StageRank& rank : ranks) {
    StageTimes of = times_of(rank);
    repetition.complete(of, rank.place());
    times.step = std::max(times.step, of.end);
    times.fingerprint =
        mix(times.fingerprint, static_cast<std::uint64_t>(of.end.count() + of.peak));
    StageTimes& latest = times.ranks[static_cast<std::size_t>(rank.place())];
    if (latest.end < of.end) latest = of;
  }
  if (times.left_out > 0 && times.step > kMostCounted) return std::nullopt;
  times.close();
  if (times.step > Duration{}) {
    std::vector<double> carried = roads->carried();
    repetition.complete(carried);
    times.links = roads->links(to_seconds(times.step));
    times.busiest = roads->busiest(to_seconds(times.step), carried);
  }
  return times;
}

LayoutTimes play(const PlayedStep& step) {
  const bool goes_by_itself =
      step.timeline == nullptr && step.plan.overlap == nullptr && step.plan.roads->knows_times();
  if (takes(FastPath::kPeriodsLeftOut, goes_by_itself)) {
    if (auto times = play_programs(step, true)) return std::move(*times);
  }
  return *play_programs(step, false);
}

/// How long the step takes, and nothing else of it.
Duration step_time(const LayoutPlan& plan, const StepPasses& passes) {
  if (takes(FastPath::kEarliestStarts, plan.overlap == nullptr)) {
    if (const auto time = earliest_step(plan, passes)) return *time;
  }
  return play({plan, passes}).step;
}

}  // namespace

LayoutTimes play_layout(const LayoutPlan& plan, Timeline* timeline) {
  const StepPasses passes(plan);
  return play_layout(plan, passes, timeline);
}

LayoutTimes play_layout(const LayoutPlan& plan, const StepPasses& passes, Timeline* timeline) {
  if (takes(FastPath::kEarliestStarts, timeline == nullptr && plan.overlap == nullptr)) {
    auto times = earliest_starts(plan, passes);
    spdlog::debug("a step of {} places: {}", plan.layout.pipeline(),
                  times ? "earliest starts" : "programs, as exchanges meet on links");
    if (times) return std::move(*times);
  }
  return play({plan, passes, timeline});
}

Duration replica_time(const LayoutPlan& plan, const StepPasses& passes, const LayoutTimes& times) {
  if (plan.layout.data() == 1) return times.step;
  if (!plan.is_as_long_alone()) {
    const LayoutPlan alone = plan_of_replica(plan);
    return step_time(alone, StepPasses(alone));
  }
  if (times.replica) return *times.replica;
  return step_time(plan_of_replica(plan), passes);
}

}  // namespace steptime
