// Random layouts: what memory is left, what time is spent on, and which steps are the same.
#include "sim/core/error.h"
#include "sim/layouts/earliest_starts.h"
#include "sim/layouts/passes_in_order.h"
#include "sim/layouts/play.h"
#include "tests/support/drawn_layout.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

Duration computed(const StageTimes& rank, Spent what) {
  return rank.spent[static_cast<std::size_t>(what)];
}

/// Memory is freed, and what a rank spends the time of the step on is what its passes say.
void expect_whole(const DrawnLayout& drawn, const LayoutTimes& times) {
  for (std::int64_t r = 0; r < drawn.places(); ++r) {
    const StageTimes& rank = times.ranks[static_cast<std::size_t>(r)];
    RC_ASSERT(std::accumulate(rank.spent.begin(), rank.spent.end(), Duration{}) == times.step);
    for (const Duration spent : rank.spent)
      RC_ASSERT(spent >= Duration{});
    for (const HeldFor what :
         {HeldFor::kActivations, HeldFor::kLogits, HeldFor::kGathered, HeldFor::kBuffers})
      RC_ASSERT(rank.left[static_cast<std::size_t>(what)] == 0);
    Duration blocks{}, ends{}, again{};
    for (std::int64_t c = 0; c < drawn.chunks; ++c) {
      for (const LayerWork* layer : drawn.layers(c * drawn.places() + r)) {
        (layer->is_loss ? ends : blocks) +=
            layer->forward + layer->input_gradient + layer->weight_gradient;
        if (drawn.again_of(*layer) == Recomputed::kLayer) again += layer->forward;
        if (drawn.again_of(*layer) == Recomputed::kAttention) again += layer->attention;
      }
    }
    RC_ASSERT(computed(rank, Spent::kCompute) == blocks * drawn.micro_batches());
    RC_ASSERT(computed(rank, Spent::kLogits) == ends * drawn.micro_batches());
    RC_ASSERT(computed(rank, Spent::kRecompute) == again * drawn.micro_batches());
  }
}

RC_GTEST_PROP(Layouts, ExchangesCalledOneByOneTakeWhatTheyTakeAsTimes, ()) {
  const DrawnLayout drawn;
  const LayoutPlan plan = plan_of(drawn.test, drawn.work);
  Timeline timeline;  // what is drawn is played by programs
  const LayoutTimes folded = play_layout(plan, &timeline);
  const LayoutTimes called = only_programs(plan);
  RC_ASSERT(folded.step == called.step);
  for (std::size_t r = 0; r < folded.ranks.size(); ++r) {
    RC_ASSERT(folded.ranks[r].end == called.ranks[r].end);
    RC_ASSERT(folded.ranks[r].spent == called.ranks[r].spent);
    RC_ASSERT(folded.ranks[r].bytes == called.ranks[r].bytes);
    RC_ASSERT(folded.ranks[r].exchanging == called.ranks[r].exchanging);
    RC_ASSERT(folded.ranks[r].peak == called.ranks[r].peak);
  }
}

/// Also with buckets of other schedules and weights that are updated; operations of a group cost
/// what they cost each.
DrawnLayout draw_any() {
  DrawnLayout drawn;
  drawn.test.schedule = *rc::gen::element<std::string>(
      R"({"type": "wfbp", "granularity": "layer"})", R"({"type": "sync-easgd"})");
  const auto cost = [] {
    return std::make_shared<LinearCollective>(
        LinearCost{Duration(any(0, 20)), {any(0, 3) * 1e-12}});
  };
  drawn.test.costs = {cost(), cost(), cost(), cost(), cost()};
  drawn.work.logits = {any(0, 200)};
  drawn.work.context = {any(0, 50)};
  drawn.work.parameter.optimizer = any(0, 8);
  if (either()) drawn.work.update = [](std::int64_t params) { return Duration(3 * params); };
  return drawn;
}

void expect_same(const LayoutTimes& a, const LayoutTimes& b) {
  RC_ASSERT(a.step == b.step);
  RC_ASSERT(a.last == b.last);
  RC_ASSERT(a.ranks.size() == b.ranks.size());
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    RC_ASSERT(a.ranks[r].end == b.ranks[r].end);
    RC_ASSERT(a.ranks[r].spent == b.ranks[r].spent);
    RC_ASSERT(a.ranks[r].bytes == b.ranks[r].bytes);
    RC_ASSERT(a.ranks[r].exchanging == b.ranks[r].exchanging);
    RC_ASSERT(a.ranks[r].exchanges == b.ranks[r].exchanges);
    RC_ASSERT(a.ranks[r].peak == b.ranks[r].peak);
    RC_ASSERT(a.ranks[r].at_peak == b.ranks[r].at_peak);
    RC_ASSERT(a.ranks[r].peak_at == b.ranks[r].peak_at);
    RC_ASSERT(a.ranks[r].left == b.ranks[r].left);
  }
  RC_ASSERT(a.fingerprint == b.fingerprint);
  RC_ASSERT(a.messages == b.messages);
  RC_ASSERT(a.busiest == b.busiest);
}

std::optional<LayoutTimes> earliest_starts_of(const LayoutPlan& plan) {
  return earliest_starts(plan, StepPasses(plan));
}

// With links of their own it always knows, but where a micro-batch may pass through a place in no
// time at all.
RC_GTEST_PROP(Layouts, EarliestStartsAreThoseOfThePrograms, ()) {
  for (int layout = 0; layout < 3; ++layout) {
    const DrawnLayout drawn = draw_any();
    const LayoutPlan plan = plan_of(drawn.test, drawn.work);
    const auto times = earliest_starts_of(plan);
    const bool takes_time =
        std::all_of(plan.hops.begin(), plan.hops.end(),
                    [&plan](const Hop& hop) { return hop.send->time(plan.boundary) > Duration{}; });
    RC_ASSERT(times.has_value() || !takes_time);
    if (!times) continue;
    expect_same(*times, only_programs(plan));
  }
}

// All that a step acquires it releases, what a rank spends its time on is the step, and it computes
// what its passes say.
RC_GTEST_PROP(Layouts, MemoryIsFreedAndTimeIsSpentOnSomething, ()) {
  const DrawnLayout drawn;
  const LayoutPlan plan = plan_of(drawn.test, drawn.work);
  for (const LayoutTimes& times : in_every_way(plan))
    expect_whole(drawn, times);
}

// FSDP with a layer a unit is ZeRO-3, and hybrid sharding over all ranks is FSDP.
RC_GTEST_PROP(Layouts, FsdpIsZero3AndHybridShardingOverAllRanksIsFsdp, ()) {
  DrawnLayout drawn;
  const auto fingerprint = [&](const std::string& states) {
    drawn.test.states = states;
    return play_layout(plan_of(drawn.test, drawn.work)).fingerprint;
  };
  const std::uint64_t zero = fingerprint(R"({"type": "zero", "stage": 3})");
  RC_ASSERT(fingerprint(R"({"type": "fsdp"})") == zero);
  RC_ASSERT(fingerprint(fmt::format(R"({{"type": "fsdp", "shard_group": {}}})", drawn.sharers())) ==
            zero);
}

/// On nodes whose GPUs and adapters are links, all a million times as long and as large, so that
/// the picosecond to which a message is rounded is less than a millionth of a step.
void place(DrawnLayout& drawn, std::int64_t adapters) {
  Cluster cluster;
  const std::int64_t ranks = drawn.tensor() * drawn.sharers() * drawn.places();
  std::vector<std::int64_t> sizes;
  for (std::int64_t gpus = 1; gpus <= ranks; ++gpus) {
    if (ranks % gpus == 0) sizes.push_back(gpus);
  }
  cluster.gpus_per_node = *rc::gen::elementOf(sizes);
  cluster.nodes = ranks / cluster.gpus_per_node;
  cluster.network = {Duration(any(0, 5)), {any(1, 9) * 1e11}};
  cluster.intra_node = {Duration(any(0, 5)), {any(1, 9) * 1e12}};
  cluster.gpus.emplace().nics = adapters;
  drawn.test.cluster = std::make_shared<const Cluster>(std::move(cluster));
  constexpr std::int64_t kLonger = 1'000'000;
  for (LayerWork& layer : drawn.work.layers) {
    for (Duration LayerWork::*part :
         {&LayerWork::forward, &LayerWork::input_gradient, &LayerWork::weight_gradient,
          &LayerWork::attention, &LayerWork::attention_gradient})
      layer.*part *= kLonger;
  }
  drawn.work.parameter = {.weight = kLonger, .gradient = kLonger};
  ExchangedBytes& exchanged = drawn.work.exchanged;
  for (Bytes* bytes : {&exchanged.hidden, &exchanged.queries, &exchanged.keys_values})
    bytes->count *= kLonger;
}

bool can_be_placed(const DrawnLayout& drawn);

// On links that they might share; where they do meet, programs are played.
RC_GTEST_PROP(Layouts, EarliestStartsOnSharedLinksAreThoseOfThePrograms, ()) {
  int placed = 0;
  int known = 0;
  for (int layout = 0; layout < 10; ++layout) {
    DrawnLayout drawn = draw_any();
    place(drawn, any(1, 4));
    if (!can_be_placed(drawn)) continue;
    ++placed;
    const LayoutPlan plan = plan_of(drawn.test, drawn.work);
    const auto times = earliest_starts_of(plan);
    if (!times) continue;
    ++known;
    expect_same(*times, only_programs(plan));
  }
  RC_CLASSIFY(known > 0, "known");
  RC_PRE(placed > 0);
}

/// False: a group would have unequal parts on its nodes.
bool can_be_placed(const DrawnLayout& drawn) {
  try {
    plan_of(drawn.test, drawn.work);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

// What a whole step says of one replica alone is what that takes by programs.
RC_GTEST_PROP(Layouts, AWholeStepKnowsThatOfAReplicaAlone, ()) {
  int placed = 0;
  int known = 0;
  for (int layout = 0; layout < 5; ++layout) {
    DrawnLayout drawn = draw_any();
    if (either()) place(drawn, any(1, 4));
    if (!can_be_placed(drawn)) continue;
    ++placed;
    const LayoutPlan plan = plan_of(drawn.test, drawn.work);
    const StepPasses passes(plan);
    const LayoutTimes times = play_layout(plan, passes, nullptr);
    known += times.replica ? 1 : 0;
    RC_ASSERT(replica_time(plan, passes, times) == only_programs(plan_of_replica(plan)).step);
  }
  RC_CLASSIFY(known > 0, "known");
  RC_PRE(placed > 0);
}

/// So many that a step repeats itself.
void draw_many_micro_batches(DrawnLayout& drawn) {
  drawn.test.micro_batches = any(20, 60);
  if (drawn.order != "interleaved") return;
  drawn.group = drawn.places() + any(0, 3);
  drawn.test.micro_batches = any(10, 20) * static_cast<std::int32_t>(drawn.group);
  drawn.test.order =
      fmt::format(R"({{"type": "interleaved", "chunks": {}, "microbatch_group": {}}})",
                  drawn.chunks, drawn.group);
}

// On links on which exchanges meet.
RC_GTEST_PROP(Layouts, PeriodsThatAreLeftOutAreAsThoseBefore, ()) {
  int placed = 0;
  std::int64_t left_out = 0;
  for (int layout = 0; layout < 5; ++layout) {
    DrawnLayout drawn = draw_any();
    draw_many_micro_batches(drawn);
    place(drawn, any(1, 4));
    if (!can_be_placed(drawn)) continue;
    ++placed;
    const LayoutPlan plan = plan_of(drawn.test, drawn.work);
    const LayoutTimes times = play_layout(plan);
    left_out += times.left_out;
    expect_same(times, only_programs(plan));
  }
  RC_CLASSIFY(left_out > 0, "left out");
  RC_PRE(placed > 0);
}

// As one group of a kind stands for all: how many ranks it has on each of its nodes, which are all
// as many.
RC_GTEST_PROP(Layouts, GroupsOfAKindLieOnNodesAlikeOrAreRefused, ()) {
  DrawnLayout drawn;
  const LayoutPlan plan = plan_of(drawn.test, drawn.work);
  place(drawn, 1);
  const std::int64_t gpus = drawn.test.cluster->gpus_per_node;
  bool are_alike = true;
  for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kShards,
                               GroupKind::kReplicas, GroupKind::kEnds}) {
    std::set<std::vector<std::int64_t>> spreads;
    for (std::int32_t rank = 0; rank < plan.layout.ranks(); ++rank) {
      if (kind == GroupKind::kEnds && plan.place(rank) != 0) continue;
      std::map<std::int64_t, std::int64_t> members;
      for (const std::int32_t member : plan.group(kind, rank))
        ++members[member / gpus];
      std::vector<std::int64_t> spread;
      for (const auto& [node, count] : members)
        spread.push_back(count);
      are_alike = are_alike && std::set(spread.begin(), spread.end()).size() == 1;
      spreads.insert(std::move(spread));
    }
    are_alike = are_alike && spreads.size() == 1;
  }
  RC_ASSERT(can_be_placed(drawn) == are_alike);
}

// On links that are shared, in closed form and in messages: memory is freed, time is spent on
// something, ranks compute what their passes say and exchange as many bytes as with links of their
// own, no step is shorter than with them, and no link works for longer than the step.
RC_GTEST_PROP(Layouts, SharedLinksChangeNothingButTime, ()) {
  DrawnLayout drawn;
  place(drawn, any(1, 4));
  RC_PRE(can_be_placed(drawn));
  LayoutPlan plan = plan_of(drawn.test, drawn.work);
  const LayoutTimes closed = play_layout(plan);
  LayoutPlan alone = plan;
  alone.cluster = nullptr;
  const LayoutTimes apart = play_layout(alone);
  RC_ASSERT(closed.step >= apart.step - Duration(closed.ranks[0].exchanges));
  drawn.test.plays_messages = true;
  const LayoutPlan in_messages = plan_of(drawn.test, drawn.work);
  const LayoutTimes messages = play_layout(in_messages);
  RC_ASSERT(replica_time(in_messages, StepPasses(in_messages), messages) > Duration{});
  for (const LayoutTimes* times : {&closed, &messages}) {
    RC_ASSERT(times->busiest <= 1 + 1e-6);
    expect_whole(drawn, *times);
    for (std::size_t r = 0; r < times->ranks.size(); ++r)
      RC_ASSERT(times->ranks[r].bytes == apart.ranks[r].bytes);
  }
}

// What costs nothing, however it is played, changes nothing.
RC_GTEST_PROP(Layouts, OverlapWithoutACostIsNone, ()) {
  const DrawnLayout drawn = draw_any();
  LayoutPlan plan = plan_of(drawn.test, drawn.work);
  const LayoutTimes without = only_programs(plan);
  plan.overlap = make<Overlap>(R"({"type": "factors", "compute": 1, "collective": 1})");
  expect_same(play_layout(plan), without);
}

// With links of its own, no step is shorter where compute and exchanges slow each other down; ranks
// compute what their passes say, and exchange the same. Also on shared links and in messages.
RC_GTEST_PROP(Layouts, OverlapTakesNoLessAndChangesNothingElse, ()) {
  DrawnLayout drawn = draw_any();
  LayoutPlan plan = plan_of(drawn.test, drawn.work);
  const LayoutTimes without = play_layout(plan);
  plan.overlap =
      make<Overlap>(fmt::format(R"({{"type": "factors", "compute": {}, "collective": {}}})",
                                1 + 0.1 * any(0, 9), 1 + 0.1 * any(0, 9)));
  const LayoutTimes alone = play_layout(plan);
  expect_whole(drawn, alone);
  RC_ASSERT(alone.step >= without.step);
  for (std::size_t r = 0; r < alone.ranks.size(); ++r)
    RC_ASSERT(alone.ranks[r].bytes == without.ranks[r].bytes);
  place(drawn, any(1, 4));
  for (const bool plays_messages : {false, true}) {
    drawn.test.plays_messages = plays_messages;
    if (!can_be_placed(drawn)) continue;
    LayoutPlan placed = plan_of(drawn.test, drawn.work);
    placed.overlap = plan.overlap;
    const LayoutTimes times = play_layout(placed);
    expect_whole(drawn, times);
    RC_ASSERT(times.busiest <= 1 + 1e-6);
  }
}

// Groups that share nothing: one dimension, on a node or with a GPU a node, of a pipeline two
// places. Rings of messages whose parts are whole bytes then take what their closed forms do.
RC_GTEST_PROP(Layouts, MessagesTakeTheClosedFormWhereNothingIsShared, ()) {
  DrawnLayout drawn;
  const std::int32_t ranks = any(2, 4);
  const std::size_t dimension = static_cast<std::size_t>(any(0, 3));
  drawn.test.degrees = {1, 1, 1, 1};
  drawn.test.degrees[dimension] = dimension == 3 ? 2 : ranks;
  if (dimension == 1) {  // the same ranks exchange keys and values, and sum gradients
    drawn.test.states = R"({"type": "replicated"})";
    drawn.test.beside.gradients = false;
  }
  if (dimension == 2) {
    drawn.test.states = *rc::gen::element<std::string>(
        R"({"type": "replicated"})", R"({"type": "zero", "stage": 1})",
        R"({"type": "zero", "stage": 2})", R"({"type": "zero", "stage": 3})",
        R"({"type": "fsdp", "prefetch": "none", "gathers": 1})");
  }
  drawn.test.order = *rc::gen::element<std::string>(R"({"type": "gpipe"})", R"({"type": "1f1b"})",
                                                    R"({"type": "zb-h1"})");
  drawn.test.stages.clear();
  drawn.test.context =
      *rc::gen::element<std::string>(R"({"type": "ring"})", R"({"type": "all-gather"})");
  drawn.test.sequence_parallel = dimension == 0 && either();
  drawn.work = work_of_blocks(2 * any(1, 3), {any(1, 40), any(1, 40), any(1, 40)}, 12 * any(1, 9));
  drawn.work.exchanged = {
      .hidden = {12 * any(1, 9)}, .queries = {12 * any(1, 9)}, .keys_values = {12 * any(1, 9)}};
  Cluster cluster;
  const bool is_one_node = either();
  const std::int64_t count = drawn.test.degrees[dimension];
  cluster.nodes = is_one_node ? 1 : count;
  cluster.gpus_per_node = is_one_node ? count : 1;
  cluster.network = {Duration(any(0, 5)), {1e12}};
  cluster.intra_node = {Duration(any(0, 5)), {1e12}};
  drawn.test.cluster = std::make_shared<const Cluster>(std::move(cluster));
  const Duration closed = play_layout(plan_of(drawn.test, drawn.work)).step;
  drawn.test.plays_messages = true;
  RC_ASSERT(play_layout(plan_of(drawn.test, drawn.work)).step == closed);
}

// No step is shorter than the work of a rank, nor with slower exchanges than with faster ones.
RC_GTEST_PROP(Layouts, SlowerExchangesTakeNoLess, ()) {
  DrawnLayout drawn;
  drawn.test.costs = costs_of(Duration(5), 1e-12);
  const Duration fast = play_layout(plan_of(drawn.test, drawn.work)).step;
  drawn.test.costs = costs_of(Duration(10), 2e-12);
  const Duration slow = play_layout(plan_of(drawn.test, drawn.work)).step;
  RC_ASSERT(slow >= fast);
}

}  // namespace
}  // namespace steptime
