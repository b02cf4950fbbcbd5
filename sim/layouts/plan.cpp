#include "sim/layouts/plan.h"

#include "sim/core/error.h"
#include "sim/step/step.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace steptime {

std::string_view name_of(Spent what) {
  constexpr std::array<std::string_view, kSpent> kNames{
      "compute",  "recompute", "logits",  "bubble",    "tensor", "context",
      "pipeline", "gradients", "weights", "optimizer", "scales", "overlap"};
  return kNames[static_cast<std::size_t>(what)];
}

Overlap::Pair GroupCosts::pair(const Collective& collective) const {
  if (beside_kernels == nullptr) return {collective, collective};
  const auto ways = all();
  const auto way = std::find(ways.begin(), ways.end(), &collective) - ways.begin();
  return {collective, *beside_kernels->all()[static_cast<std::size_t>(way)]};
}

std::string_view name_of(GroupKind kind) {
  constexpr std::array<std::string_view, kGroupKinds> kNames{
      "tensor", "context", "shards", "replicas", "pipeline", "ends", "all"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

const Collective& of(const GroupCosts& costs, const std::optional<Operation>& operation) {
  if (!operation) return *costs.send;
  switch (*operation) {
    case Operation::kReduceScatter:
      return *costs.reduce_scatter;
    case Operation::kAllGather:
      return *costs.all_gather;
    case Operation::kAllToAll:
      return *costs.all_to_all;
    default:
      return *costs.all_reduce;
  }
}

/// Appends what one layer does in its passes.
class LayerPlanner {
 public:
  LayerPlanner(const LayoutPlan& plan, const LayoutParts& parts, const LayerWork& layer)
      : plan_(plan), parts_(parts), layer_(layer) {}

  Legs forward(bool again) const {
    Legs legs;
    const Spent what = spent(again);
    if (!layer_.is_block) {
      compute(legs, what, layer_.forward);
      return legs;
    }
    const Duration rest = layer_.forward - layer_.attention;
    const Duration first = rest / 2;
    attention(legs, what, layer_.attention,
              contexts() > 1 ? parts_.context.forward(plan_.work.exchanged, contexts())
                             : std::vector<ContextCall>{});
    half(legs, what, first);
    half(legs, what, rest - first);
    return legs;
  }

  Legs backward(Recomputed recomputed) const {
    Legs legs;
    if (recomputed == Recomputed::kLayer) legs = forward(true);
    if (recomputed == Recomputed::kAttention) compute(legs, Spent::kRecompute, layer_.attention);
    if (recomputed == Recomputed::kOperators) compute(legs, Spent::kRecompute, operators_again());
    const Spent what = spent(false);
    if (!layer_.is_block) {
      compute(legs, what, layer_.input_gradient);
      return legs;
    }
    const Duration rest = layer_.input_gradient - layer_.attention_gradient;
    const Duration first = rest / 2;
    half(legs, what, first, sums_beside_weights());
    attention(legs, what, layer_.attention_gradient,
              contexts() > 1 ? parts_.context.backward(plan_.work.exchanged, contexts())
                             : std::vector<ContextCall>{});
    half(legs, what, rest - first, sums_beside_weights());
    return legs;
  }

  /// Half of the products, which take as long as those of the weights' gradients, and all that is
  /// neither these nor attention.
  Duration operators_again() const {
    const Duration rest = layer_.forward - layer_.attention;
    return rest - std::min(rest, layer_.weight_gradient) / 2;
  }

  Legs weights() const {
    Legs legs;
    const Spent what = spent(false);
    if (!layer_.is_block || !(parts_.sequence_parallel || sums_beside_weights())) {
      compute(legs, what, layer_.weight_gradient);
      return legs;
    }
    const Duration first = layer_.weight_gradient / 2;
    for (const Duration part : {first, layer_.weight_gradient - first})
      half_of_weights(legs, what, part);
    return legs;
  }

 private:
  std::int64_t contexts() const { return plan_.layout.context(); }
  Spent spent(bool again) const {
    if (again) return Spent::kRecompute;
    return layer_.is_loss ? Spent::kLogits : Spent::kCompute;
  }

  static void compute(Legs& legs, Spent what, Duration length) {
    if (length > Duration{}) legs.push_back({.what = what, .compute = length});
  }
  void exchange(Legs& legs, Spent what, Duration beside, GroupKind group,
                std::optional<Operation> operation, Bytes bytes) const {
    const Collective& collective = of(plan_.costs(group), operation);
    legs.push_back({.what = what,
                    .compute = beside,
                    .exchange = {group, &collective, bytes},
                    .alone = collective.time(bytes)});
  }

  /// Whether sums of inputs' gradients go on beside the weights' gradients: the product that
  /// divides its outputs has its input's gradient first. An exchange that is cut into pieces with
  /// its product has no need of that, and where passes for weights come later there is nothing.
  bool sums_beside_weights() const {
    return plan_.beside.input_gradients && !plan_.beside.tensor && plan_.layout.tensor() > 1 &&
           !plan_.order->splits_backward();
  }

  /// Of the weights' gradients of half a layer's products, with what goes on meanwhile.
  void half_of_weights(Legs& legs, Spent what, Duration length) const {
    const ExchangedBytes& bytes = plan_.work.exchanged;
    const auto beside = [&](Duration part, Operation operation) {
      exchange(legs, what, part, GroupKind::kTensor, operation,
               operation == Operation::kAllGather ? bytes.in_gathers() : bytes.hidden);
    };
    // The input of the product that divides its outputs was not kept whole.
    if (!sums_beside_weights()) return beside(length, Operation::kAllGather);
    // Half of these are of that product, whose input's gradient is being summed up; the other half
    // stands for that gradient, as long, beside which the input is gathered.
    const Duration own = length / 2;
    if (parts_.sequence_parallel) {
      beside(length - own, Operation::kAllGather);
      return beside(own, Operation::kReduceScatter);
    }
    compute(legs, what, length - own);
    beside(own, Operation::kAllReduce);
  }

  /// Half of a layer's products, and what tensor ranks then exchange. `sums_later`: but sums.
  void half(Legs& legs, Spent what, Duration length, bool sums_later = false) const {
    const std::int64_t tensor = plan_.layout.tensor();
    if (tensor == 1) return compute(legs, what, length);
    if (sums_later) {
      compute(legs, what, length);
      if (!parts_.sequence_parallel) return;
      return gather(legs, what);
    }
    // Beside compute, it is cut with its product into a piece for each rank.
    const Duration beside = plan_.beside.tensor ? length - length / tensor : Duration{};
    compute(legs, what, length - beside);
    const Bytes bytes = plan_.work.exchanged.hidden;
    if (!parts_.sequence_parallel)
      return exchange(legs, what, beside, GroupKind::kTensor, Operation::kAllReduce, bytes);
    exchange(legs, what, beside, GroupKind::kTensor, Operation::kReduceScatter, bytes);
    gather(legs, what);
  }

  /// Of what the next product of tensor ranks works on.
  void gather(Legs& legs, Spent what) const {
    exchange(legs, what, {}, GroupKind::kTensor, Operation::kAllGather,
             plan_.work.exchanged.in_gathers());
  }

  /// With a piece of it beside each exchange that goes on meanwhile.
  void attention(Legs& legs, Spent what, Duration length,
                 const std::vector<ContextCall>& calls) const {
    const auto pieces = 1 + std::count_if(calls.begin(), calls.end(),
                                          [](const ContextCall& c) { return c.is_beside; });
    const Duration piece = plan_.beside.context ? length / pieces : Duration{};
    for (const ContextCall& call : calls) {
      const Duration beside = call.is_beside ? piece : Duration{};
      exchange(legs, what, beside, GroupKind::kContext, call.operation, call.bytes);
      length -= beside;
    }
    compute(legs, what, length);
  }

  const LayoutPlan& plan_;
  const LayoutParts& parts_;
  const LayerWork& layer_;
};

StageLayer plan_layer(const LayoutPlan& plan, const LayoutParts& parts, std::size_t number,
                      std::int64_t block) {
  const LayerWork& layer = plan.work.layers[number];
  const Recomputed again = layer.is_block ? parts.recomputation.of(block) : Recomputed::kNothing;
  const LayerPlanner planner(plan, parts, layer);
  StageLayer planned{.layer = number,
                     .forward = planner.forward(false),
                     .backward = planner.backward(again),
                     .weights = planner.weights(),
                     .params = layer.params(),
                     .kept = layer.kept};
  if (again == Recomputed::kAttention) {
    planned.kept = layer.kept - layer.kept_attention;
    planned.working = layer.kept_attention;
  }
  if (again == Recomputed::kOperators) {
    planned.working = layer.kept_norms;
    planned.working += {(layer.kept - layer.kept_input - layer.kept_norms).count / 2};
    planned.kept = layer.kept - planned.working;
  }
  if (again == Recomputed::kLayer) {
    planned.kept = layer.kept_input;
    planned.working = layer.kept - layer.kept_input;
  }
  return planned;
}

Duration length_of(const Legs& legs) {
  Duration sum{};
  for (const Leg& leg : legs)
    sum = checked_add(sum, std::max(leg.compute, leg.alone));
  return sum;
}

/// How long all ranks of a place wait for each other's maxima.
Duration time_of_maxima(const std::shared_ptr<const Collective>& among, Bytes maxima) {
  return among == nullptr || maxima.count == 0 ? Duration{} : among->time(maxima);
}

/// Passes forward and back end with them.
void exchange_maxima(const LayoutPlan& plan, StageWork& stage) {
  stage.maxima = {plan.work.exchanged.maxima.count *
                  std::count_if(stage.layers.begin(), stage.layers.end(), [&](const StageLayer& l) {
                    return plan.work.layers[l.layer].is_block;
                  })};
  const Leg leg{.what = Spent::kScales, .compute = time_of_maxima(plan.maxima, stage.maxima)};
  if (leg.compute == Duration{}) return;
  stage.layers.back().forward.push_back(leg);
  stage.layers.front().backward.push_back(leg);
}

/// Gradients of a stage, in the order of its backward pass; `layer`: of the stage.
std::vector<GradientUnit> units_of(const LayoutPlan& plan, const StageWork& stage,
                                   Granularity granularity) {
  std::vector<GradientUnit> units;
  Duration ready{};
  for (std::size_t l = stage.layers.size(); l-- > 0;) {
    const StageLayer& layer = stage.layers[l];
    ready = checked_add(ready, checked_add(length_of(layer.backward), length_of(layer.weights)));
    const LayerWork& work = plan.work.layers[layer.layer];
    const auto add = [&](const std::string& name, std::int64_t params) {
      units.push_back(
          {name, static_cast<std::int32_t>(l), {params * plan.work.parameter.gradient}, ready});
    };
    if (granularity == Granularity::kLayer) {
      if (layer.params > 0) add(work.name, layer.params);
      continue;
    }
    for (std::size_t t = work.tensors.size(); t-- > 0;)
      add(work.tensors[t].name, work.tensors[t].params);
  }
  return units;
}

GradientBucket bucket_of(const LayoutPlan& plan, std::span<const GradientUnit> units) {
  GradientBucket bucket{.name = units.back().name,
                        .first_layer = static_cast<std::size_t>(units.back().layer)};
  for (const GradientUnit& unit : units)
    bucket.bytes += unit.bytes;
  bucket.weights = {bucket.bytes.count / plan.work.parameter.gradient * plan.work.parameter.weight};
  if (units.size() > 1) bucket.name = fmt::format("{} to {}", units.front().name, bucket.name);
  return bucket;
}

/// How many units each bucket has.
std::vector<std::int32_t> sizes_by_states(const LayoutPlan& plan,
                                          std::span<const GradientUnit> units,
                                          std::int64_t params) {
  std::vector<std::int32_t> sizes{0};
  std::int64_t held = 0;
  for (const GradientUnit& unit : units) {
    if (held >= params * plan.work.parameter.gradient) {
      sizes.push_back(0);
      held = 0;
    }
    ++sizes.back();
    held += unit.bytes.count;
  }
  return sizes;
}

/// The units that are gathered together: so many blocks; an embedding or the loss is its own.
std::vector<std::int32_t> sizes_by_blocks(const LayoutPlan& plan, const StageWork& stage,
                                          std::span<const GradientUnit> units,
                                          std::int64_t blocks) {
  std::vector<std::int32_t> sizes;
  std::int64_t left = 0;
  bool in_blocks = false;
  for (const GradientUnit& unit : units) {
    const std::size_t layer = stage.layers[static_cast<std::size_t>(unit.layer)].layer;
    const bool is_block = plan.work.layers[layer].is_block;
    if (sizes.empty() || is_block != in_blocks || left == 0) {
      sizes.push_back(0);
      left = is_block ? blocks : 1;
    }
    in_blocks = is_block;
    --left;
    ++sizes.back();
  }
  return sizes;
}

void plan_buckets(const LayoutPlan& plan, const LayoutParts& parts, StageWork& stage) {
  const auto gathering = plan.states->gathering(plan.layout.pipeline() > 1);
  const auto units =
      units_of(plan, stage, gathering ? Granularity::kLayer : parts.schedule.granularity());
  if (units.empty() || (plan.sharers() == 1 && !gathering)) return;
  BucketPlan buckets;
  const auto by_states = plan.states->bucket(plan.sharers());
  if (gathering)
    buckets.sizes = sizes_by_blocks(plan, stage, units, gathering->blocks);
  else if (!parts.has_schedule && by_states)
    buckets.sizes = sizes_by_states(plan, units, *by_states);
  else
    buckets = parts.schedule.plan(units, *plan.costs(GroupKind::kShards).all_reduce);
  std::size_t unit = 0;
  for (const std::int32_t size : buckets.sizes) {
    GradientBucket bucket =
        bucket_of(plan, std::span(units).subspan(unit, static_cast<std::size_t>(size)));
    unit += static_cast<std::size_t>(size);
    if (buckets.after_backward) bucket.first_layer = 0;
    const std::int64_t longest =
        size == 1 && buckets.longest ? buckets.longest->count : bucket.bytes.count;
    while (bucket.bytes.count > longest) {
      GradientBucket part = bucket;
      part.bytes = {longest};
      bucket.bytes = {bucket.bytes.count - longest};
      part.weights = {longest / plan.work.parameter.gradient * plan.work.parameter.weight};
      bucket.weights = bucket.weights - part.weights;
      stage.buckets.push_back(std::move(part));
    }
    stage.buckets.push_back(std::move(bucket));
  }
}

/// Gradients of the tied embedding that both ends of a pipeline sum up. Of them a rank holds a part
/// where its states keep parts only. Megatron-LM@00c2c0ad core/distributed/finalize_model_grads.py
/// (_allreduce_word_embedding_grads) sums up the whole main_grad with its distributed optimizer,
/// and what FSDP manages with that.
Bytes tied_gradients(const LayoutPlan& plan) {
  const std::int64_t parts = plan.parts().gradients;
  return {(plan.work.tied_params * plan.work.parameter.gradient + parts - 1) / parts};
}

}  // namespace

void plan_stages(LayoutPlan& plan, const LayoutParts& parts) {
  const auto stages = plan.layout.pipeline() * plan.order->chunks();
  plan.stages.assign(static_cast<std::size_t>(stages), {});
  if (plan.layout.pipeline() > 1 && plan.work.tied_params > 0) {
    // The last stage has a copy of the embedding. Its gradients are summed up as all others of the
    // rank are, and then over both ends.
    plan.work.layers.back().tensors.push_back({"tied embedding", plan.work.tied_params});
    plan.tied = tied_gradients(plan);
  }
  std::size_t next = 0;
  std::int64_t block = 0;
  double seconds = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    StageWork& stage = plan.stages[s];
    std::int64_t blocks = parts.layers[s];
    const bool is_last = s + 1 == plan.stages.size();
    while (next < plan.work.layers.size()) {
      const LayerWork& layer = plan.work.layers[next];
      if (layer.is_block && blocks == 0) break;
      if (!layer.is_block && next > 0 && !is_last) break;
      stage.layers.push_back(plan_layer(plan, parts, next++, block));
      if (layer.is_block) {
        const Recomputed again = parts.recomputation.of(block);
        const auto all = static_cast<double>(plan.work.blocks());
        if (again == Recomputed::kAttention) plan.flops_again += plan.work.attention_flops / all;
        if (again == Recomputed::kLayer) plan.flops_again += plan.work.forward_flops / all;
        if (again == Recomputed::kOperators) {
          plan.flops_again += (plan.work.forward_flops - plan.work.attention_flops) / 2 / all;
        }
        --blocks;
        ++block;
      }
    }
    exchange_maxima(plan, stage);
    for (const StageLayer& layer : stage.layers) {
      stage.params += layer.params;
      stage.kept += layer.kept;
      stage.working = std::max(stage.working, layer.working);
      for (const Legs* legs : {&layer.forward, &layer.backward, &layer.weights})
        seconds += to_seconds(length_of(*legs));
    }
    plan_buckets(plan, parts, stage);
  }
  plan.stages.back().logits = plan.work.logits;
  check_step_length(seconds * plan.micro_batches);
  if (stages == 1) return;
  const std::int64_t tensor = plan.layout.tensor();
  const Bytes hidden = plan.work.exchanged.hidden;
  plan.boundary = {hidden.count / tensor};
  if (tensor > 1 && !parts.sequence_parallel) plan.gathered_boundary = hidden;
}

std::vector<std::int32_t> LayoutPlan::group(GroupKind kind, std::int32_t rank) const {
  using D = Dimension;
  switch (kind) {
    case GroupKind::kTensor:
      return layout.group(rank, std::array{D::kTensor});
    case GroupKind::kContext:
      return layout.group(rank, std::array{D::kContext});
    case GroupKind::kPipeline:
      return layout.group(rank, std::array{D::kPipeline});
    case GroupKind::kAll:
      return layout.group(rank, std::array{D::kTensor, D::kContext, D::kData, D::kPipeline});
    case GroupKind::kEnds: {
      std::vector<std::int32_t> ranks = layout.group(rank, std::array{D::kPipeline});
      if (rank != ranks.front() && rank != ranks.back()) return {rank};
      if (ranks.size() > 2) ranks.erase(ranks.begin() + 1, ranks.end() - 1);
      return ranks;
    }
    case GroupKind::kShards:
    case GroupKind::kReplicas:
      break;
  }
  const std::vector<std::int32_t> all = layout.group(rank, std::array{D::kContext, D::kData});
  const auto size = static_cast<std::size_t>(shard_group());
  const auto place =
      static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), rank) - all.begin());
  std::vector<std::int32_t> ranks;
  const bool is_shard_group = kind == GroupKind::kShards;
  for (std::size_t i = is_shard_group ? place / size * size : place % size; i < all.size();
       i += is_shard_group ? 1 : size) {
    if (is_shard_group && ranks.size() == size) break;
    ranks.push_back(all[i]);
  }
  return ranks;
}

LayoutPlan plan_of_replica(const LayoutPlan& plan) {
  LayoutPlan alone = plan;
  alone.layout = plan.layout.without(Dimension::kData);
  if (plan.of_replica) {
    alone.shards = plan.of_replica->shard_group;
    alone.groups[static_cast<std::size_t>(GroupKind::kShards)] = plan.of_replica->shards;
    alone.groups[static_cast<std::size_t>(GroupKind::kReplicas)] = plan.of_replica->replicas;
  }
  if (plan.tied.count > 0) alone.tied = tied_gradients(alone);
  if (plan.is_as_long_alone()) return alone;
  alone.slowest = plan.slowest_of_replica;
  alone.maxima = plan.maxima_of_replica;
  const double share = alone.slowest / plan.slowest;
  for (StageWork& stage : alone.stages) {
    for (StageLayer& layer : stage.layers) {
      for (Legs* const legs : {&layer.forward, &layer.backward, &layer.weights}) {
        for (Leg& leg : *legs) {
          leg.compute = leg.what == Spent::kScales ? time_of_maxima(alone.maxima, stage.maxima)
                                                   : scaled(leg.compute, share);
        }
      }
    }
  }
  return alone;
}

}  // namespace steptime
