#include "sim/layouts/earliest_starts.h"

#include "sim/core/fingerprint.h"
#include "sim/layouts/earliest_rank.h"
#include "sim/layouts/link_timetable.h"
#include "sim/layouts/shared_links.h"

#include <algorithm>
#include <deque>
#include <memory>

namespace steptime {
namespace {

/// What goes on within a pass must be a time. Who sends two micro-batches at one instant, to come
/// at one, leaves open which of them a rank has waited for.
bool knows(const LayoutPlan& plan, const SharedLinks& links, const StepPasses& passes) {
  if (!plan.roads->knows_times() || (plan.layout.pipeline() == 1 && plan.order->chunks() > 1))
    return false;
  for (std::int32_t place = 0; place < plan.layout.pipeline(); ++place) {
    if (!links.are_alone(place, GroupKind::kTensor) || !links.are_alone(place, GroupKind::kContext))
      return false;
  }
  const bool takes_time = plan.layout.pipeline() == 1 ||
                          std::all_of(plan.hops.begin(), plan.hops.end(), [&](const Hop& hop) {
                            return hop.send->time(plan.boundary) > Duration{};
                          });
  if (takes_time) return true;
  const auto is_long = [](const std::vector<Segment>& pass) {
    return pass.empty() || std::any_of(pass.begin(), pass.end(),
                                       [](const Segment& s) { return s.length > Duration{}; });
  };
  return std::all_of(passes.chunks.begin(), passes.chunks.end(), [&](const auto& of_place) {
    return std::all_of(of_place.begin(), of_place.end(), [&](const ChunkPasses& chunk) {
      return is_long(chunk.forward) && is_long(chunk.backward) && is_long(chunk.input);
    });
  });
}

/// False: they wait for each other, or exchanges meet.
bool make_passes(std::deque<EarliestRank>& ranks, LinkTimetable& timetable) {
  std::vector<EarliestRank*> ready;
  for (EarliestRank& rank : ranks)
    rank.gathers_updates();
  for (std::size_t r = ranks.size(); r-- > 0;)
    ready.push_back(&ranks[r]);
  constexpr std::int64_t kFirstLook = 512;
  std::int64_t made = 0;
  std::int64_t next_look = kFirstLook;
  while (!ready.empty()) {
    EarliestRank& rank = *ready.back();
    ready.pop_back();
    made -= rank.passes_made();
    rank.go_on(ready);
    made += rank.passes_made();
    if (made < next_look) continue;
    if (timetable.meet()) return false;
    next_look = 2 * made;
  }
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const EarliestRank& r) { return r.passes_are_over() && r.is_in_range(); });
}

void end_step(const LayoutPlan& plan, std::deque<EarliestRank>& ranks) {
  for (EarliestRank& rank : ranks)
    rank.sums_gradients();
  EarliestRank& first = ranks.front();
  EarliestRank& last = ranks.back();
  if (plan.tied.count > 0) {
    const Time end = first.sums_ends(std::max(first.at(), last.at()));
    for (EarliestRank* rank : {&first, &last})
      rank->ends_are_summed(end);
  }
  Time all_there{};
  for (const EarliestRank& rank : ranks)
    all_there = std::max(all_there, rank.at());
  for (EarliestRank& rank : ranks)
    rank.ends_step(all_there);
}

/// A step that is over.
struct Step {
  LinkTimetable timetable;
  std::deque<EarliestRank> ranks{};
  std::optional<Duration> replica{};  ///< as LayoutTimes has it
};

/// A replica alone makes the same passes where these wait for nothing that it would not call, and
/// then updates its weights, where it has nothing to sum up. `ranks`: as their passes are over.
std::optional<Duration> step_of_replica(const LayoutPlan& plan,
                                        const std::deque<EarliestRank>& ranks) {
  if (plan.layout.context() > 1 || plan.tied.count > 0) return std::nullopt;
  Time over{};
  Duration update{};
  for (const EarliestRank& rank : ranks) {
    if (rank.has_waited_for_replicas()) return std::nullopt;
    over = std::max(over, rank.at());
    update = std::max(update, rank.update_alone());
  }
  return since_start(over) + update;
}

/// None: it does not know.
std::unique_ptr<Step> step_of(const LayoutPlan& plan, const StepPasses& passes, bool remembers) {
  const SharedLinks links(plan);
  if (!knows(plan, links, passes)) return nullptr;
  auto step = std::make_unique<Step>(Step{LinkTimetable(links.channels())});
  std::deque<EarliestRank>& ranks = step->ranks;
  const std::size_t places = passes.chunks.size();
  for (std::size_t place = 0; place < places; ++place) {
    ranks.emplace_back(plan, links, step->timetable, passes.chunks[place], passes.order[place],
                       static_cast<std::int32_t>(place), remembers);
  }
  for (std::size_t place = 0; place < places; ++place)
    ranks[place].join(ranks[(place + places - 1) % places], ranks[(place + 1) % places]);
  if (!make_passes(ranks, step->timetable)) return nullptr;
  step->replica = step_of_replica(plan, ranks);
  end_step(plan, ranks);
  const bool is_in_range = std::all_of(ranks.begin(), ranks.end(),
                                       [](const EarliestRank& rank) { return rank.is_in_range(); });
  return is_in_range && !step->timetable.meet() ? std::move(step) : nullptr;
}

}  // namespace

std::optional<LayoutTimes> earliest_starts(const LayoutPlan& plan, const StepPasses& passes) {
  const auto step = step_of(plan, passes, true);
  if (step == nullptr) return std::nullopt;
  LayoutTimes times{.fingerprint = kFingerprintSeed, .replica = step->replica};
  for (EarliestRank& rank : step->ranks) {
    const StageTimes& of = times.ranks.emplace_back(rank.times());
    times.step = std::max(times.step, of.end);
    times.fingerprint =
        mix(times.fingerprint, static_cast<std::uint64_t>(of.end.count() + of.peak));
  }
  times.close();
  if (times.step > Duration{}) times.busiest = step->timetable.busiest(to_seconds(times.step));
  return times;
}

std::optional<Duration> earliest_step(const LayoutPlan& plan, const StepPasses& passes) {
  const auto step = step_of(plan, passes, false);
  if (step == nullptr) return std::nullopt;
  Time end{};
  for (const EarliestRank& rank : step->ranks)
    end = std::max(end, rank.at());
  return since_start(end);
}

}  // namespace steptime
