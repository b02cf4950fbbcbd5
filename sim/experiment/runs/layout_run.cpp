#include "sim/experiment/runs/layout_run.h"

#include "sim/core/error.h"
#include "sim/core/limits.h"
#include "sim/experiment/assessment.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/memory_record.h"
#include "sim/experiment/played_cluster.h"
#include "sim/layouts/message_count.h"
#include "sim/layouts/node_sharing.h"
#include "sim/layouts/play.h"
#include "sim/workload/variation.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

namespace steptime {
namespace {

Duration of(const StageTimes& rank, Spent what) {
  return rank.spent[static_cast<std::size_t>(what)];
}

/// Of one rank, forward passes only.
Duration forward_time(const LayoutPlan& plan, std::size_t rank) {
  Duration one{};
  for (std::int32_t c = 0; c < plan.order->chunks(); ++c) {
    for (const StageLayer& layer : plan.stage(static_cast<std::int32_t>(rank), c).layers) {
      for (const Leg& leg : layer.forward)
        one += leg.what == Spent::kScales ? Duration{} : leg.compute;
    }
  }
  return one * plan.micro_batches;
}

/// Samples of a step.
double samples_of(const LayoutPlan& plan) {
  return static_cast<double>(plan.layout.data()) * static_cast<double>(plan.work.samples) *
         static_cast<double>(plan.micro_batches);
}

TrainingMemory memory_of(const LayoutPlan& plan, const StageTimes& rank) {
  const auto held = [&](HeldFor what) {
    return Bytes{rank.at_peak[static_cast<std::size_t>(what)]};
  };
  return {.weights = held(HeldFor::kWeights),
          .gradients = held(HeldFor::kGradients),
          .optimizer = held(HeldFor::kOptimizer),
          .activations = held(HeldFor::kActivations) + held(HeldFor::kLogits) +
                         held(HeldFor::kGathered) + held(HeldFor::kBuffers),
          .context = held(HeldFor::kContext),
          .device = plan.work.device};
}

}  // namespace

void LayoutPrograms::check(const Experiment& e, const DocumentOf& document) const {
  const Config config(document(), experiment_params());
  if (e.embedding->has_main_thread()) {
    config.object("strategy", strategy_params())
        .fail("embedding", "unexpected with a layout; expected {\"type\": \"async\"}");
  }
  const Config run = config.object("run", run_params());
  for (const char* key : {"slow_links", "convergence"}) {
    if (run.has(key)) run.fail(key, "unexpected with a layout, whose replicas are alike");
  }
  check_machines(e);
  const Variation& variation = e.run->variation;
  const auto refuse = [&run](const char* key, const char* why) {
    run.object("variation", variation_params())
        .fail(key, fmt::format("unexpected with a layout, {}", why));
  };
  if (variation.seeds > 1)
    refuse("seeds", "whose step is the expected one of all seeds; expected 1");
  if (!variation.gpus.empty()) refuse("gpus", "whose replicas are alike");
  if (variation.slow_chance > 0) refuse("slow_chance", "whose replicas are alike");
}

void LayoutPrograms::tell(Prediction& prediction) const {
  prediction.modelled.reset();
}

Result LayoutPrograms::run(const Experiment& e, const Wanted& wanted) const {
  Timeline* const timeline = wanted.timeline;
  const LayoutPlan& plan = *e.layout;
  if (timeline != nullptr) {
    double bars = 0;
    for (std::int32_t r = 0; r < plan.layout.pipeline(); ++r)
      bars += 2 * static_cast<double>(plan.order->passes(plan.shape(), r));  // with what it sends
    check_bars(bars);
  }
  const bool in_messages = e.run->fidelity == Fidelity::kMessage;
  if (in_messages)
    check_events(messages_of(plan), "/run/fidelity", "messages", "closed forms take none");
  const StepPasses passes(plan);
  auto played =
      std::make_shared<PlayedLayout>(PlayedLayout{e.layout, play_layout(plan, passes, timeline)});
  const LayoutTimes& times = played->times;
  const StageTimes& last = times.ranks[times.last];
  if (times.step == Duration{}) throw RangeError("a step takes no time at all");
  const Duration compute =
      of(last, Spent::kCompute) + of(last, Spent::kRecompute) + of(last, Spent::kLogits);
  const Duration forward = forward_time(plan, times.last);

  Result r;
  r.step_time_s = to_seconds(times.step);
  r.compute_time_s = to_seconds(compute);
  r.forward_time_s = to_seconds(forward);
  r.backward_time_s = to_seconds(compute - forward);
  r.comm_busy_s = to_seconds(last.exchanging);
  r.exposed_comm_s =
      to_seconds(times.step - compute - of(last, Spent::kBubble) - of(last, Spent::kOptimizer));
  r.messages = in_messages ? times.messages : last.exchanges;
  r.links = times.links;
  r.workers = e.cluster->workers();
  r.fingerprint = times.fingerprint;
  r.throughput_samples_per_s = samples_of(plan) / r.step_time_s;
  if (wanted.on_progress) wanted.on_progress(0.5);
  const double replicas = plan.layout.data();
  r.scaling_efficiency = to_seconds(replica_time(plan, passes, times)) / r.step_time_s;
  r.speedup = replicas * r.scaling_efficiency;
  if (const auto& samples = e.workload->workload.dataset_samples)
    r.epoch_time_s = std::ceil(static_cast<double>(*samples) / samples_of(plan)) * r.step_time_s;
  if (plan.work.tokens > 0) {
    r.memory = memory_of(plan, times.ranks[times.fullest()]);
    r.memory_interval_bytes =
        MemoryRecord::shipped().interval(static_cast<double>(r.memory->total().count));
  }
  for (std::size_t what = 0; what < kSpent; ++what) {
    if (last.spent[what] == Duration{}) continue;
    r.attribution.push_back({std::string(name_of(static_cast<Spent>(what))),
                             fmt::format("rank {} of the pipeline", times.last),
                             to_seconds(last.spent[what])});
  }
  std::stable_sort(r.attribution.begin(), r.attribution.end(),
                   [](const Cause& a, const Cause& b) { return a.seconds > b.seconds; });
  r.layout = std::move(played);
  std::vector<std::string> beyond;
  if (const std::string& domain = plan.work.domain; domain != "inside") beyond.push_back(domain);
  if (e.cluster->nodes > 1 && e.cluster->kind) {
    if (auto outside = e.cluster->kind->outside_domain(); !outside.empty())
      beyond.push_back(std::move(outside));
  }
  constexpr double kMostSlowed = 1.25;
  if (const double slowed = in_messages ? 1 : slowed_inside_nodes(plan); slowed > kMostSlowed) {
    beyond.push_back(
        fmt::format("closed forms do not model which links inside a node a layout's "
                    "groups use and share: a message takes up to {:.1f} times as long",
                    slowed));
  }
  assess(e, r, std::move(beyond));
  return r;
}

}  // namespace steptime
