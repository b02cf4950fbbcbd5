// Random layouts: what each kind of group carries, what memory is left, and that a step is the same
// whether exchanges pass as times or are called one by one.
#include "tests/support/layouts.h"

#include "sim/core/error.h"
#include "sim/layouts/play.h"

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

std::int32_t any(std::int32_t low, std::int32_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

struct Drawn {
  TestLayout test;
  ModelWork work;
  std::int64_t blocks = 0;

  Drawn() {
    const std::int32_t p = any(1, 4);
    test.degrees = {any(1, 3), any(1, 3), any(1, 4), p};
    test.micro_batches = any(1, 6);
    test.order = *rc::gen::element<std::string>(R"({"type": "gpipe"})", R"({"type": "1f1b"})",
                                                R"({"type": "zb-h1"})");
    test.states = *rc::gen::element<std::string>(
        R"({"type": "replicated"})", R"({"type": "zero", "stage": 1})",
        R"({"type": "zero", "stage": 2})", R"({"type": "zero", "stage": 3})",
        R"({"type": "fsdp", "prefetch": "none", "gathers": 1})");
    test.recompute = *rc::gen::element<std::string>(
        R"({"type": "none"})", R"({"type": "selective"})", R"({"type": "full"})");
    test.context = *rc::gen::element<std::string>(
        R"({"type": "ring"})", R"({"type": "all-gather"})", R"({"type": "ulysses"})");
    test.sequence_parallel = test.degrees[0] > 1 && any(0, 1) == 1;
    for (bool BesideCompute::*kind :
         {&BesideCompute::gradients, &BesideCompute::weights, &BesideCompute::tensor,
          &BesideCompute::pipeline, &BesideCompute::context})
      test.beside.*kind = any(0, 1) == 1;
    test.costs = costs_of(Duration(any(0, 20)), any(0, 3) * 1e-12);
    blocks = std::int64_t{p} * any(1, 3);
    work = work_of_blocks(blocks, {any(1, 40), any(1, 40), any(1, 40)}, any(1, 50));
    for (LayerWork& layer : work.layers) {
      layer.attention = layer.forward / 2;
      layer.attention_gradient = layer.input_gradient / 2;
      layer.kept = {100};
      layer.kept_attention = {30};
      layer.kept_input = {10};
    }
    work.exchanged = {
        .hidden = {6 * any(1, 9)}, .queries = {any(1, 9)}, .keys_values = {any(1, 9)}};
  }
};

RC_GTEST_PROP(Layouts, ExchangesCalledOneByOneTakeWhatTheyTakeAsTimes, ()) {
  const Drawn drawn;
  const LayoutPlan plan = plan_of(drawn.test, drawn.work);
  const LayoutTimes folded = play_layout(plan);
  const LayoutTimes called = play_layout(plan, nullptr, false);
  RC_ASSERT(folded.step == called.step);
  for (std::size_t r = 0; r < folded.ranks.size(); ++r) {
    RC_ASSERT(folded.ranks[r].end == called.ranks[r].end);
    RC_ASSERT(folded.ranks[r].spent == called.ranks[r].spent);
    RC_ASSERT(folded.ranks[r].bytes == called.ranks[r].bytes);
    RC_ASSERT(folded.ranks[r].exchanging == called.ranks[r].exchanging);
    RC_ASSERT(folded.ranks[r].peak == called.ranks[r].peak);
  }
}

// All that a step acquires it releases, what a rank spends its time on is the step, and it computes
// what its passes say.
RC_GTEST_PROP(Layouts, MemoryIsFreedAndTimeIsSpentOnSomething, ()) {
  const Drawn drawn;
  const LayoutPlan plan = plan_of(drawn.test, drawn.work);
  const LayoutTimes times = play_layout(plan);
  Duration block = drawn.work.layers[0].forward + drawn.work.layers[0].input_gradient +
                   drawn.work.layers[0].weight_gradient;
  for (const StageTimes& rank : times.ranks) {
    RC_ASSERT(std::accumulate(rank.spent.begin(), rank.spent.end(), Duration{}) == times.step);
    for (const Duration spent : rank.spent)
      RC_ASSERT(spent >= Duration{});
    for (const HeldFor what :
         {HeldFor::kActivations, HeldFor::kLogits, HeldFor::kGathered, HeldFor::kBuffers})
      RC_ASSERT(rank.left[static_cast<std::size_t>(what)] == 0);
    const std::int64_t passes = drawn.test.micro_batches * drawn.blocks / drawn.test.degrees[3];
    RC_ASSERT(rank.spent[static_cast<std::size_t>(Spent::kCompute)] == passes * block);
  }
}

// What a rank exchanges with each kind of group, in integers. T h is a rank's tokens, of m
// micro-batches and l layers.
//   tensor     4 all-reduces a layer (full recomputation: 6), with sequence parallelism twice as
//   many
//              exchanges and two more; without it an all-gather for each boundary that is received
//   pipeline   T h / t a boundary that is sent
//   shards     gradients (P), weights gathered (P): ZeRO-1 both once, ZeRO-2 gradients every time,
//              ZeRO-3 and FSDP gradients and twice the weights every time, with a pipeline the
//              weights once
RC_GTEST_PROP(Layouts, GroupsCarryWhatTheirStrategySays, ()) {
  const Drawn drawn;
  const TestLayout& test = drawn.test;
  const LayoutTimes times = play_layout(plan_of(test, drawn.work));
  const std::int64_t t = test.degrees[0], p = test.degrees[3], m = test.micro_batches;
  const std::int64_t l = drawn.blocks / p;
  const std::int64_t hidden = drawn.work.exchanged.hidden.count;
  const bool is_full = test.recompute.find("full") != std::string::npos;
  for (std::int64_t r = 0; r < p; ++r) {
    const BytesOfGroups& bytes = times.ranks[static_cast<std::size_t>(r)].bytes;
    const std::int64_t boundaries = (r > 0 ? 1 : 0) + (r + 1 < p ? 1 : 0);
    const std::int64_t passes = is_full ? 6 : 4;
    std::int64_t exchanges = t == 1 ? 0 : m * l * passes;
    if (test.sequence_parallel)
      exchanges = m * l * (2 * passes + 2);
    else if (t > 1)
      exchanges += m * boundaries;
    RC_ASSERT(bytes[static_cast<std::size_t>(GroupKind::kTensor)] == exchanges * hidden);
    RC_ASSERT(bytes[static_cast<std::size_t>(GroupKind::kPipeline)] ==
              m * boundaries * (hidden / t));
    std::int64_t params = 0;
    for (std::int64_t b = 0; b < l; ++b)
      params += drawn.work.layers[static_cast<std::size_t>(b)].params();
    const auto sums = [&]() -> std::int64_t {
      if (test.degrees[1] * test.degrees[2] == 1) return 0;
      if (test.states.find("replicated") != std::string::npos) return 1;
      if (test.states.find("1}") != std::string::npos &&
          test.states.find("fsdp") == std::string::npos)
        return 2;
      if (test.states.find("2}") != std::string::npos) return m + 1;
      return m + (p > 1 ? 1 : 2 * m);
    };
    RC_ASSERT(bytes[static_cast<std::size_t>(GroupKind::kShards)] == sums() * params);
  }
}

// FSDP with a layer a unit is ZeRO-3, and hybrid sharding over all ranks is FSDP.
RC_GTEST_PROP(Layouts, FsdpIsZero3AndHybridShardingOverAllRanksIsFsdp, ()) {
  Drawn drawn;
  const auto step = [&](const std::string& states) {
    drawn.test.states = states;
    return play_layout(plan_of(drawn.test, drawn.work)).step;
  };
  const Duration zero = step(R"({"type": "zero", "stage": 3})");
  RC_ASSERT(step(R"({"type": "fsdp"})") == zero);
  RC_ASSERT(step(fmt::format(R"({{"type": "fsdp", "shard_group": {}}})",
                             drawn.test.degrees[1] * drawn.test.degrees[2])) == zero);
}

/// On nodes whose GPUs and adapters are links, all a million times as long and as large, so that
/// what a link carries in closed form is told to less than a millionth of a step.
void place(Drawn& drawn, std::int64_t adapters) {
  Cluster cluster;
  const std::int64_t ranks = std::int64_t{drawn.test.degrees[0]} * drawn.test.degrees[1] *
                             drawn.test.degrees[2] * drawn.test.degrees[3];
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
  auto& [hidden, queries, keys_values] = drawn.work.exchanged;
  for (Bytes* bytes : {&hidden, &queries, &keys_values})
    bytes->count *= kLonger;
}

/// False: a group would have unequal parts on its nodes.
bool can_be_placed(const Drawn& drawn) {
  try {
    plan_of(drawn.test, drawn.work);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

// On links that are shared, in closed form and in messages: memory is freed, time is spent on
// something, ranks compute what their passes say and exchange as many bytes as with links of their
// own, no step is shorter than with them, and no link works for longer than the step.
RC_GTEST_PROP(Layouts, SharedLinksChangeNothingButTime, ()) {
  Drawn drawn;
  place(drawn, any(1, 4));
  RC_PRE(can_be_placed(drawn));
  LayoutPlan plan = plan_of(drawn.test, drawn.work);
  const LayoutTimes closed = play_layout(plan);
  LayoutPlan alone = plan;
  alone.cluster = nullptr;
  const LayoutTimes apart = play_layout(alone);
  RC_ASSERT(closed.step >= apart.step - Duration(closed.ranks[0].exchanges));
  drawn.test.plays_messages = true;
  const LayoutTimes messages = play_layout(plan_of(drawn.test, drawn.work));
  const Duration block = drawn.work.layers[0].forward + drawn.work.layers[0].input_gradient +
                         drawn.work.layers[0].weight_gradient;
  for (const LayoutTimes* times : {&closed, &messages}) {
    RC_ASSERT(times->busiest <= 1 + 1e-6);
    for (std::size_t r = 0; r < times->ranks.size(); ++r) {
      const StageTimes& rank = times->ranks[r];
      RC_ASSERT(rank.bytes == apart.ranks[r].bytes);
      RC_ASSERT(std::accumulate(rank.spent.begin(), rank.spent.end(), Duration{}) == times->step);
      for (const HeldFor what :
           {HeldFor::kActivations, HeldFor::kLogits, HeldFor::kGathered, HeldFor::kBuffers})
        RC_ASSERT(rank.left[static_cast<std::size_t>(what)] == 0);
      const std::int64_t passes = drawn.test.micro_batches * drawn.blocks / drawn.test.degrees[3];
      RC_ASSERT(rank.spent[static_cast<std::size_t>(Spent::kCompute)] == passes * block);
    }
  }
}

// Groups that share nothing: one dimension, on a node or with a GPU a node, of a pipeline two
// places. Rings of messages whose parts are whole bytes then take what their closed forms do.
RC_GTEST_PROP(Layouts, MessagesTakeTheClosedFormWhereNothingIsShared, ()) {
  Drawn drawn;
  const std::int32_t ranks = any(2, 4);
  const std::size_t dimension = static_cast<std::size_t>(any(0, 3));
  drawn.test.degrees = {1, 1, 1, 1};
  drawn.test.degrees[dimension] = dimension == 3 ? 2 : ranks;
  if (dimension == 1) {  // the same ranks exchange keys and values, and sum gradients
    drawn.test.states = R"({"type": "replicated"})";
    drawn.test.beside.gradients = false;
  }
  drawn.test.context =
      *rc::gen::element<std::string>(R"({"type": "ring"})", R"({"type": "all-gather"})");
  drawn.test.sequence_parallel = dimension == 0 && any(0, 1) == 1;
  drawn.blocks = 2 * any(1, 3);
  drawn.work = work_of_blocks(drawn.blocks, {any(1, 40), any(1, 40), any(1, 40)}, 12 * any(1, 9));
  drawn.work.exchanged = {
      .hidden = {12 * any(1, 9)}, .queries = {12 * any(1, 9)}, .keys_values = {12 * any(1, 9)}};
  Cluster cluster;
  const bool is_one_node = any(0, 1) == 1;
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
  Drawn drawn;
  drawn.test.costs = costs_of(Duration(5), 1e-12);
  const Duration fast = play_layout(plan_of(drawn.test, drawn.work)).step;
  drawn.test.costs = costs_of(Duration(10), 2e-12);
  const Duration slow = play_layout(plan_of(drawn.test, drawn.work)).step;
  RC_ASSERT(slow >= fast);
}

}  // namespace
}  // namespace steptime
