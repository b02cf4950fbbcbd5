#include "sim/layouts/play.h"

#include "sim/core/fast_paths.h"
#include "sim/core/fingerprint.h"
#include "sim/layouts/earliest_starts.h"
#include "sim/layouts/rank_program.h"
#include "sim/layouts/roads.h"
#include "sim/layouts/stage_rank.h"
#include "sim/runtime/mediums.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <deque>
#include <memory>
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

}  // namespace

LayoutTimes play_layout(const LayoutPlan& plan, Timeline* timeline) {
  std::vector<std::vector<ChunkPasses>> passes;
  const std::int32_t places = plan.layout.pipeline();
  for (std::int32_t place = 0; place < places; ++place)
    passes.push_back(passes_of(plan, place));
  if (takes(FastPath::kEarliestStarts, timeline == nullptr && plan.overlap == nullptr)) {
    auto times = earliest_starts(plan, passes);
    spdlog::debug("a step of {} places: {}", places,
                  times ? "earliest starts" : "programs, as exchanges meet on links");
    if (times) return std::move(*times);
  }
  World world;
  const auto roads = make_roads(world, plan);
  const std::vector<std::int32_t> programs = roads->programs();
  Group all(world, {"all ranks"}, programs.size(), std::make_unique<NoMedium>(world));
  LayoutRun run{world, plan, *roads, all, std::move(passes), timeline};

  std::deque<StageRank> ranks;
  for (std::size_t program = 0; program < programs.size(); ++program)
    ranks.emplace_back(run, programs[program], program);
  const auto beside = [&](std::size_t program, std::int32_t step) -> StageRank& {
    Coordinates at = plan.layout.coordinates(programs[program]);
    std::int32_t& place = at[static_cast<std::size_t>(Dimension::kPipeline)];
    place = (place + places + step) % places;
    const auto other = std::lower_bound(programs.begin(), programs.end(), plan.layout.rank(at));
    return ranks[static_cast<std::size_t>(other - programs.begin())];
  };
  for (std::size_t program = 0; program < ranks.size(); ++program) {
    ranks[program].join(beside(program, -1), beside(program, 1));
    world.spawn({"rank", programs[program]}, trains_a_step(ranks[program]));
  }
  world.run();
  world.expect_over();

  LayoutTimes times{.fingerprint = kFingerprintSeed, .messages = roads->messages()};
  std::vector<const StageRank*> latest(static_cast<std::size_t>(places));
  for (const StageRank& rank : ranks) {
    const auto end = since_start(rank.ended());
    times.step = std::max(times.step, end);
    times.fingerprint = mix(times.fingerprint,
                            static_cast<std::uint64_t>(end.count() + rank.memory().peak().bytes));
    const StageRank*& of_place = latest[static_cast<std::size_t>(rank.place())];
    if (of_place == nullptr || of_place->ended() < rank.ended()) of_place = &rank;
  }
  for (const StageRank* rank : latest)
    times.ranks.push_back(times_of(*rank));
  times.close();
  if (times.step > Duration{}) {
    times.links = roads->links(to_seconds(times.step));
    times.busiest = roads->busiest(to_seconds(times.step));
  }
  return times;
}

}  // namespace steptime
