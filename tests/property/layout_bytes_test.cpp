// Random layouts: the bytes that a rank exchanges with each kind of group in a step, as it calls
// them, are what the strategies say: derived here from the layers, in integers; and there are as
// many exchanges as was known beforehand.
#include "sim/layouts/message_count.h"
#include "sim/layouts/play.h"
#include "tests/support/drawn_layout.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// What a collective of a ring of n ranks sends of the bytes that it counts.
enum class Way {
  kSend,       ///< all of them, to the next rank
  kHalf,       ///< reduce-scatter, all-gather, all-to-all: (n - 1) / n
  kAllReduce,  ///< both of the first two
};

/// By a rank in a step.
struct Carried {
  BytesOfGroups bytes{};  ///< as collectives count them
  std::int64_t sent = 0;  ///< through the rank's adapter, where parts of a ring are whole bytes

  void add(GroupKind kind, Way way, std::int64_t n, std::int64_t times, std::int64_t each) {
    bytes[static_cast<std::size_t>(kind)] += times * each;
    if (way == Way::kSend) sent += times * each;
    if (way == Way::kHalf) sent += times * each * (n - 1) / n;
    if (way == Way::kAllReduce) sent += 2 * times * each * (n - 1) / n;
  }
};

/// Of a block, for all micro-batches; h bytes of hidden values.
//   tensor   an all-reduce behind each half of a layer, forward and backward: 4 h; forward again
//            where the layer is computed again: 6 h. With sequence parallelism each is a
//            reduce-scatter and an all-gather, and each half gathers its input once more: 2 h
//   context  ring: c - 1 times keys and values, backward with their gradients, twice as much;
//            all-gather: keys and values of all, backward once more and their gradients;
//            Ulysses: four all-to-alls of queries, both ways
void add_block(const DrawnLayout& drawn, const LayerWork& layer, Carried& carried) {
  const ExchangedBytes& exchanged = drawn.work.exchanged;
  const std::int64_t m = drawn.micro_batches();
  const std::int64_t t = drawn.tensor();
  const std::int64_t c = drawn.contexts();
  const std::int64_t forwards = drawn.again_of(layer) == Recomputed::kLayer ? 2 : 1;
  const std::int64_t halves = m * 2 * (forwards + 1);
  if (t > 1 && drawn.test.sequence_parallel)
    carried.add(GroupKind::kTensor, Way::kHalf, t, 2 * halves + 2 * m, exchanged.hidden.count);
  else if (t > 1)
    carried.add(GroupKind::kTensor, Way::kAllReduce, t, halves, exchanged.hidden.count);
  if (c == 1) return;
  const std::int64_t keys_values = exchanged.keys_values.count;
  if (drawn.context == "ring") {
    carried.add(GroupKind::kContext, Way::kSend, c, m * forwards * (c - 1), keys_values);
    carried.add(GroupKind::kContext, Way::kSend, c, m * (c - 1), 2 * keys_values);
  }
  if (drawn.context == "all-gather")
    carried.add(GroupKind::kContext, Way::kHalf, c, m * (forwards + 2), c * keys_values);
  if (drawn.context == "ulysses")
    carried.add(GroupKind::kContext, Way::kHalf, c, m * (forwards + 1) * 4,
                exchanged.queries.count);
}

/// Of a stage's gradients and weights.
//   replicated   gradients once; ZeRO-1 and the weights once; ZeRO-2 gradients of each micro-batch
//   in parts     gradients of each micro-batch; weights twice for each, or, kept, once; a group's
//                part of each unit is then summed over its replicas
void add_states(const DrawnLayout& drawn, std::int64_t stage, Carried& carried) {
  using Cut = DrawnLayout::Cut;
  const std::int64_t n = drawn.sharers();
  if (n == 1) return;
  const std::int64_t m = drawn.micro_batches();
  const std::int64_t gradients = drawn.params_of_stage(stage) * drawn.work.parameter.gradient;
  const std::int64_t weights = drawn.params_of_stage(stage) * drawn.work.parameter.weight;
  if (drawn.cut == Cut::kNothing)
    return carried.add(GroupKind::kShards, Way::kAllReduce, n, 1, gradients);
  const bool each_time = drawn.cut != Cut::kOptimizer;
  const std::int64_t gathers = drawn.cut == Cut::kAll && drawn.units.reshards ? 2 * m : 1;
  if (drawn.shards > 1) {
    carried.add(GroupKind::kShards, Way::kHalf, drawn.shards, each_time ? m : 1, gradients);
    carried.add(GroupKind::kShards, Way::kHalf, drawn.shards, gathers, weights);
  }
  if (drawn.shards == n) return;
  for (const std::int64_t params : drawn.unit_params(stage)) {
    const std::int64_t part =
        (params * drawn.work.parameter.gradient + drawn.shards - 1) / drawn.shards;
    carried.add(GroupKind::kReplicas, Way::kAllReduce, n / drawn.shards, m, part);
  }
}

/// By a rank in this place of the pipeline.
Carried carried_by(const DrawnLayout& drawn, std::int64_t place) {
  Carried carried;
  const std::int64_t t = drawn.tensor();
  const std::int64_t hidden = drawn.work.exchanged.hidden.count;
  for (std::int64_t c = 0; c < drawn.chunks; ++c) {
    const std::int64_t stage = c * drawn.places() + place;
    for (const LayerWork* layer : drawn.layers(stage)) {
      if (layer->is_block) add_block(drawn, *layer, carried);
    }
    // Activations come over the boundary below and go over that above, gradients the other way. A
    // tensor rank sends its part; without sequence parallelism the receivers gather the whole.
    const std::int64_t boundaries = (stage > 0 ? 1 : 0) + (stage + 1 < drawn.stages() ? 1 : 0);
    const std::int64_t times = drawn.micro_batches() * boundaries;
    carried.add(GroupKind::kPipeline, Way::kSend, 2, times, hidden / t);
    if (t > 1 && !drawn.test.sequence_parallel)
      carried.add(GroupKind::kTensor, Way::kHalf, t, times, hidden);
    add_states(drawn, stage, carried);
  }
  // An embedding that the first and the last stage both have: of its gradients what a rank holds.
  if (drawn.places() > 1 && (place == 0 || place + 1 == drawn.places())) {
    const std::int64_t parts = drawn.cut >= DrawnLayout::Cut::kGradients ? drawn.shards : 1;
    carried.add(GroupKind::kEnds, Way::kAllReduce, 2, 1,
                (drawn.work.tied_params * drawn.work.parameter.gradient + parts - 1) / parts);
  }
  return carried;
}

// Whether exchanges pass as times or are called one by one.
RC_GTEST_PROP(LayoutBytes, GroupsCarryWhatTheirStrategySays, ()) {
  const DrawnLayout drawn;
  const LayoutPlan plan = plan_of(drawn.test, drawn.work);
  for (const LayoutTimes& times : in_every_way(plan)) {
    std::int64_t calls = 0;
    for (std::int32_t r = 0; r < plan.layout.pipeline(); ++r) {
      const StageTimes& rank = times.ranks[static_cast<std::size_t>(r)];
      RC_ASSERT(rank.bytes == carried_by(drawn, r).bytes);
      calls += plan.order->passes(plan.shape(), r) + rank.exchanges;
    }
    RC_ASSERT(calls_of(plan) == static_cast<double>(calls));
  }
}

// In messages each rank calls the same, and what the network carries through the busiest adapter is
// what that rank's rings send. Dimensions of one or two ranks, so that parts are whole bytes.
RC_GTEST_PROP(LayoutBytes, TheNetworkCarriesWhatRanksCall, ()) {
  DrawnLayout drawn;
  drawn.test.degrees = {any(1, 2), any(1, 2), any(1, 2), drawn.test.degrees[3]};
  drawn.test.sequence_parallel = drawn.tensor() > 1 && either();
  if (drawn.cut == DrawnLayout::Cut::kAll) drawn.test.states = R"({"type": "zero", "stage": 3})";
  drawn.shards = drawn.sharers();
  drawn.units = {.reshards = drawn.places() == 1};
  drawn.work.parameter = {.weight = 4, .gradient = 4};
  auto& exchanged = drawn.work.exchanged;
  for (Bytes* bytes : {&exchanged.hidden, &exchanged.queries, &exchanged.keys_values})
    bytes->count *= 4;
  drawn.test.plays_messages = true;
  drawn.test.cluster = nodes_of(drawn.tensor() * drawn.sharers() * drawn.places());
  const LayoutTimes times = play_layout(plan_of(drawn.test, drawn.work));
  std::int64_t most = 0;
  for (std::int64_t r = 0; r < drawn.places(); ++r) {
    const Carried carried = carried_by(drawn, r);
    RC_ASSERT(times.ranks[static_cast<std::size_t>(r)].bytes == carried.bytes);
    most = std::max(most, carried.sent);
  }
  RC_ASSERT((times.links.empty() ? 0 : times.links.front().bytes) == most);
  // At a byte a ps no step is shorter than that, in closed form neither.
  RC_ASSERT(times.step.count() >= most);
  drawn.test.plays_messages = false;
  RC_ASSERT(play_layout(plan_of(drawn.test, drawn.work)).step.count() >= most);
}

// ZeRO-1 in one bucket: a reduce-scatter of the gradients and an all-gather of the weights, each of
// which sends half of what the all-reduce of a replica's gradients does.
RC_GTEST_PROP(LayoutBytes, Zero1InOneBucketMovesWhatAnAllReduceDoes, ()) {
  const std::int32_t d = any(2, 5);
  TestLayout test{.degrees = {1, 1, d, 1},
                  .schedule = R"({"type": "sync-easgd"})",
                  .micro_batches = any(1, 3),
                  .cluster = nodes_of(d),
                  .plays_messages = true};
  const ModelWork work =
      work_of_blocks(any(1, 4), {any(1, 40), any(1, 40), any(1, 40)}, d * any(1, 50));
  const auto moved = [&](const char* states) {
    test.states = states;
    return play_layout(plan_of(test, work)).links.front().bytes;
  };
  RC_ASSERT(moved(R"({"type": "zero", "stage": 1})") == moved(R"({"type": "replicated"})"));
}

}  // namespace
}  // namespace steptime
