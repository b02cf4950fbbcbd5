#include "sim/layouts/plan_layout.h"

#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/layouts/group_collectives.h"
#include "sim/layouts/message_count.h"
#include "sim/network/fabric_rate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

/// What "beside_compute" may name.
struct BesideKind {
  std::string_view name;
  bool BesideCompute::*member;
};
constexpr std::array kBesideKinds{
    BesideKind{"gradients", &BesideCompute::gradients},
    BesideKind{"weights", &BesideCompute::weights},
    BesideKind{"tensor", &BesideCompute::tensor},
    BesideKind{"input-gradients", &BesideCompute::input_gradients},
    BesideKind{"pipeline", &BesideCompute::pipeline},
    BesideKind{"pipeline-by-order", &BesideCompute::pipeline_by_order},
    BesideKind{"context", &BesideCompute::context}};

Param choice(std::string key, std::string_view help, const char* noun) {
  return {.key = std::move(key),
          .kind = Kind::kObject,
          .help = fmt::format("{}; default: {}", help, Catalogue::all().at(noun)->default_name()),
          .need = Need::kOptional,
          .choice = noun};
}

/// In the place of a key that the config lacks.
Json fallback_of(const Param& key) {
  if (!key.choice.empty()) return default_choice(key.choice);
  return Json::array({"gradients", "weights", "pipeline-by-order", "context"});
}

BesideCompute read_beside(const Config& strategy) {
  BesideCompute beside{.gradients = false, .weights = false, .pipeline = false, .context = false};
  std::vector<std::string> names;
  names.reserve(kBesideKinds.size());
  for (const BesideKind& kind : kBesideKinds)
    names.emplace_back(kind.name);
  const Json& list = strategy.raw("beside_compute");
  if (!list.is_array()) {
    strategy.fail("beside_compute", fmt::format("found {}, expected a list of some of {}",
                                                brief(list), fmt::join(names, ", ")));
  }
  for (const Json& stated : list) {
    const auto known = std::find_if(kBesideKinds.begin(), kBesideKinds.end(),
                                    [&](const BesideKind& k) { return stated == k.name; });
    if (known == kBesideKinds.end()) {
      strategy.fail(
          "beside_compute",
          unknown_word(stated.is_string() ? stated.get<std::string>() : brief(stated), names));
    }
    beside.*known->member = true;
  }
  return beside;
}

/// What knows no layouts, or has no place in one.
void check_parts(const LayoutRequest& of) {
  const Config& strategy = of.strategy;
  const Aggregation& aggregation = of.aggregation;
  if (aggregation.servers.count > 0 || aggregation.clients > 1 || aggregation.merge != nullptr ||
      aggregation.beyond || aggregation.alone) {
    strategy.fail("aggregation",
                  "with a layout all groups use collectives; expected {\"type\": \"all-reduce\"}");
  }
  if (!of.update.ends_together())
    strategy.fail("update", "with a layout gradients are summed up; expected {\"type\": \"sgd\"}");
  if (of.schedule.policy({}) || of.schedule.layers_wait_for_their_own()) {
    strategy.fail("schedule",
                  "decides while the step runs, which a layout's ranks do not ask for; expected "
                  "one that plans beforehand");
  }
  if (of.transport.streams > 1 || of.transport.policy(of.schedule, {}, of.cluster)) {
    strategy.fail("transport",
                  "groups of a layout have a stream each and no coordinator; expected \"streams\": "
                  "1 and \"coordinator\": {\"type\": \"none\"}");
  }
}

/// What of a workload has no place in a layout.
void check_workload(const Config& workload, const Config& layout) {
  if (workload.has("input")) workload.fail("input", "unexpected with a layout");
  if (!workload.has("trace")) {
    for (const char* key : {"compute_time", "forward_share"}) {
      if (!workload.node().contains(key)) continue;
      workload.fail(key,
                    "unexpected with the shape of a transformer, whose operators' times follow "
                    "from its sizes and the device");
    }
    return;
  }
  for (const char* key : {"tensor", "context", "pipeline"}) {
    if (layout.get<std::int64_t>(key) > 1) {
      layout.fail(key,
                  "a trace does not say what its layers send each other; expected 1, or a "
                  "\"model\" in its place");
    }
  }
}

/// Null where compute and exchanges cost each other nothing, whatever their size.
std::shared_ptr<const Overlap> overlap_of(const LayoutPlan& plan, const Workload& workload) {
  const auto costs = [&](const Overlap::Pair& collective) {
    return &collective.alone != &collective.beside_kernels ||
           workload.overlap->beside(collective, {1}, plan.work.multiprocessors).any();
  };
  if (plan.layout.pipeline() > 1 && std::any_of(plan.hops.begin(), plan.hops.end(),
                                                [&](const Hop& hop) { return costs(hop.pair()); }))
    return workload.overlap;
  for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kShards,
                               GroupKind::kReplicas, GroupKind::kEnds}) {
    if (plan.group(kind, 0).size() == 1) continue;
    for (const Collective* collective : plan.costs(kind).all()) {
      if (costs(plan.costs(kind).pair(*collective))) return workload.overlap;
    }
  }
  return nullptr;
}

/// A step waits for the slowest of its GPUs: in each layer for that of its tensor ranks, in a
/// pipeline for that of all places, at the end for that of all replicas. Every rank is taken to be
/// as slow, which is too long for the passes that fill and empty a pipeline. Optimizers move memory
/// only, whose speed does not vary so.
void slow_down(LayoutPlan& plan, const Variation& variation) {
  if (!variation.any()) return;
  plan.slowest = variation.of_slowest(plan.layout.ranks());
  plan.slowest_of_replica = variation.of_slowest(plan.layout.ranks() / plan.layout.data());
  for (LayerWork& layer : plan.work.layers) {
    for (Duration LayerWork::*const time :
         {&LayerWork::forward, &LayerWork::input_gradient, &LayerWork::weight_gradient,
          &LayerWork::attention, &LayerWork::attention_gradient})
      layer.*time = scaled(layer.*time, plan.slowest);
  }
}

/// What a step plays must fit into memory, and end.
void expect_calls(double calls, const Config& workload) {
  if (calls <= kMostCalls) return;
  workload.fail(workload.has("global_batch") ? "global_batch" : "accumulate",
                fmt::format("a rank of each place of the pipeline makes about {:.1g} passes and "
                            "exchanges in a step, expected {:.0g} at most; larger micro-batches "
                            "are fewer",
                            calls, kMostCalls));
}

}  // namespace

const Params& layout_strategy_params() {
  static const Params params{
      {.key = "layout",
       .kind = Kind::kObject,
       .help = "how a model is cut over GPUs: degrees of parallelism; data parallelism is what the "
               "cluster has left",
       .need = Need::kOptional,
       .table = layout_params},
      choice("states",
             "of a layout: how ranks with the same parameters share weights, gradients and "
             "optimizer's states",
             States::kNoun),
      choice("pipeline_order", "of a layout: in which order a rank works on micro-batches",
             PipelineOrder::kNoun),
      choice("recompute", "of a layout: what backward passes compute again instead of keeping it",
             Recomputation::kNoun),
      choice("context_exchange",
             "of a layout: how ranks that share a sample's tokens exchange what attention needs",
             ContextExchange::kNoun),
      {.key = "beside_compute",
       .kind = Kind::kList,
       .help = "of a layout: what travels while a rank computes, a list of some of `gradients`, "
               "`weights` (without it units of `fsdp` come one at a time), `tensor` (cut into a "
               "piece for each rank, with its product), `input-gradients` (of what tensor ranks "
               "exchange, the sums of inputs' gradients, beside those of the same weights), "
               "`pipeline`, `pipeline-by-order` (only what the order's framework sends beside "
               "passes), `context`; default: `gradients`, `weights`, `pipeline-by-order`, "
               "`context`",
       .need = Need::kOptional}};
  return params;
}

namespace {

/// The keys of a strategy that has a layout.
const Params& keys_with_defaults() {
  static const Params params = [] {
    Params keys = layout_strategy_params();
    for (Param& key : keys) {
      if (key.key == "layout") continue;
      key.need = Need::kDefault;
      key.fallback = fallback_of(key);
    }
    keys.push_back({.key = "aggregation",
                    .kind = Kind::kObject,
                    .need = Need::kDefault,
                    .fallback = default_choice(Aggregation::kNoun),
                    .choice = Aggregation::kNoun});
    keys.push_back({.key = "*", .need = Need::kOptional});
    return keys;
  }();
  return params;
}

}  // namespace

bool has_layout(const Config& strategy) {
  if (strategy.has("layout")) return true;
  for (const Param& key : layout_strategy_params()) {
    if (strategy.has(key.key)) strategy.fail(key.key, "expected a \"layout\" beside it");
  }
  return false;
}

Json with_layout_defaults(const Json& strategy) {
  Json full = strategy;
  if (!full.is_object() || !full.contains("layout")) return full;
  for (const Param& key : layout_strategy_params()) {
    if (key.key != "layout" && !full.contains(key.key)) full[key.key] = fallback_of(key);
  }
  return full;
}

std::shared_ptr<const CutModel> cut_model(const Config& stated, const Config& workload_section,
                                          const Workload& workload) {
  if (!has_layout(stated)) return nullptr;
  const Config strategy = stated.through(keys_with_defaults());
  const Config section = strategy.object("layout", layout_params());
  check_workload(workload_section, section);
  const LayoutSettings settings = read_layout(section);
  const ModelCut cut{settings.tensor, settings.context, settings.sequence_parallel};
  auto model = std::make_shared<CutModel>(CutModel{
      .settings = settings,
      .beside = read_beside(strategy),
      .work = workload_section.has("trace") ? work_of(workload) : read_shape(workload_section, cut),
      .order = PipelineOrders::instance().make(strategy, "pipeline_order"),
      .states = StateKinds::instance().make(strategy, "states"),
      .recomputation = Recomputations::instance().make(strategy, "recompute"),
      .context = ContextExchanges::instance().make(strategy, "context_exchange")});
  const std::int64_t blocks = model->work.blocks();
  if (model->recomputation->highest() >= blocks) {
    strategy.fail("recompute",
                  fmt::format("found layer {}, expected numbers up to {}, the last of the model",
                              model->recomputation->highest(), blocks - 1));
  }
  model->layers = layers_of_stages(section, blocks, settings.pipeline * model->order->chunks());
  return model;
}

std::shared_ptr<const LayoutPlan> plan_layout(const LayoutRequest& request) {
  const CutModel& model = request.model;
  const Config& stated = request.strategy;
  check_parts(request);
  const Config strategy = stated.through(keys_with_defaults());
  const LayoutSettings& settings = model.settings;
  auto plan = std::make_shared<LayoutPlan>(
      LayoutPlan{.layout = layout_of(strategy.object("layout", layout_params()), settings,
                                     request.cluster.workers()),
                 .order = model.order,
                 .states = model.states,
                 .beside = model.beside,
                 .work = model.work});
  // Where each of them is gets looked at, which takes some 250 ns.
  constexpr std::int64_t kMostRanks = 4'000'000;
  if (plan->layout.ranks() > kMostRanks) {
    strategy.fail("layout", fmt::format("found {} ranks, expected at most {}", plan->layout.ranks(),
                                        kMostRanks));
  }
  const std::int64_t micro_batches =
      micro_batches_of(request.workload_section, plan->work.samples, plan->layout.data());
  // Each has a pass forward and one back in every place.
  expect_calls(2.0 * plan->layout.pipeline() * static_cast<double>(micro_batches),
               request.workload_section);
  plan->micro_batches = static_cast<std::int32_t>(micro_batches);
  if (const std::string refusal = plan->order->refusal(plan->shape()); !refusal.empty())
    strategy.fail("pipeline_order", refusal);
  if (const std::string refusal = plan->states->refusal(plan->sharers()); !refusal.empty())
    strategy.fail("states", refusal);
  if (plan->states->gathering(settings.pipeline > 1) && stated.node().contains("schedule"))
    strategy.fail("schedule", "unexpected, as units of the states are the buckets");
  plan->roads = &request.roads;
  if (plan->roads->knows_times() && !is_like_one_switch(request.cluster)) {
    throw InputError(
        fmt::format("{}: /cluster/fabric: found one whose links between switches delay messages or "
                    "slow them down, expected one like a switch, or \"message\" under "
                    "/run/fidelity, as closed forms of layouts know no other",
                    strategy.file()));
  }
  place_groups(*plan, strategy, *request.transport.backend,
               std::make_shared<const Cluster>(request.cluster));
  plan->roads->check(*plan, strategy);
  // Rates of transformers are of whole steps, which ran beside collectives as they were.
  if (!request.workload_section.has("overlap")) {
    plan->work.multiprocessors = request.workload.trace.multiprocessors;
  }
  plan->overlap = overlap_of(*plan, request.workload);
  try {
    slow_down(*plan, request.variation);
    plan_stages(*plan, {.layers = model.layers,
                        .recomputation = *model.recomputation,
                        .context = *model.context,
                        .schedule = request.schedule,
                        .has_schedule = stated.node().contains("schedule"),
                        .sequence_parallel = settings.sequence_parallel});
  } catch (const RangeError& e) {  // of times that several keys say together
    strategy.fail("layout", e.what());
  }
  expect_calls(calls_of(*plan), request.workload_section);
  expect_own_operations(*plan, strategy);
  return plan;
}

}  // namespace steptime
