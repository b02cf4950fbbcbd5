#include "sim/mxnet/module_step.h"

#include "sim/core/error.h"
#include "sim/mxnet/mean_step.h"
#include "sim/mxnet/module_record.h"
#include "sim/mxnet/node_rank.h"
#include "sim/mxnet/paced_step.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// An optimizer that takes no time at all is none: sums go back as they are, as where a kvstore has
/// no updater.
NodeOps::Costs costs_of(const ModuleRun& run, const ProcessCalls& calls) {
  const Aggregation& aggregation = run.aggregation;
  return {.engine_push = calls.engine_push,
          .gpu_operation = calls.gpu_operation,
          .copy_threads = aggregation.servers.copies.threads,
          .cpu_threads = aggregation.merge_threads,
          .updates = calls.gpu_operation + calls.update > Duration{},
          .update = calls.update,
          .uses_host = aggregation.merge->place() == Merge::Place::kHost,
          .variation = run.variation,
          .seed = run.seed};
}

/// Training of a node, whose one process drives all its GPUs.
struct Training {
  /// `only`: so many steps; 0: as many as tell what a step takes.
  Training(const TrainingGraph& of, const ProcessCalls& calls, const ModuleRun& of_run,
           Duration each, std::int64_t only_steps = 0)
      : graph(of),
        main(calls),
        run(of_run),
        only(only_steps),
        input(each),
        recorder(world.engine, graph, run.variation.any() ? std::optional(run.steps) : std::nullopt,
                 only > 0 ? nullptr : &input, run.update.period()),
        record(world.engine, graph, recorder,
               {key_calls(run.aggregation.merge->keys_per_call(), main.backward_keys),
                run.update.period(), run.timeline}),
        ops(run.cluster, costs_of(run, main), graph.keys.size()),
        process(world, ops, &record) {
    std::vector<std::int64_t> bytes;
    for (const GradientKey& key : graph.keys)
      bytes.push_back(key.bytes.count);
    store = run.aggregation.merge->init(ops, bytes, *run.aggregation.servers.sharding);
    chains = ops.variables(static_cast<std::size_t>(ops.gpus()));
    outputs = ops.variables(static_cast<std::size_t>(ops.gpus()));
    record.watch(process);
  }

  /// When the last operation of each step ends.
  std::vector<Duration> play_ends() {
    go();
    return record.ends();
  }
  EmbeddedStep play(const StepPlan& plan) {
    go();
    const Attribution a = recorder.attribution();
    EmbeddedStep step =
        recorded_step(plan, recorder, a.hidden_under_backward + a.hidden_under_forward + a.exposed);
    step.links = process.links(static_cast<double>(steps));
    return step;
  }
  void go() {
    world.start({"main thread"}, main_thread());
    world.run();
    world.expect_over();
    STEPTIME_CHECK(process.pending() == 0, "an operation of kvstore never ends");
  }

  // The program of the main thread.

  Task main_thread() {
    for (; wants_step(); ++steps) {
      if (steps % run.update.period() == 0)
        process.begin_period();
      else
        ops.begin_step();
      if (steps > 0) co_await world.pause(main.wake_up, {});
      co_await samples();
      co_await pass(0, graph.forward_segments);
      co_await pass(graph.forward_segments, graph.segments.size());
      if (run.update.exchanges(steps)) co_await exchange();
      co_await update_metric();
    }
  }
  bool wants_step() {
    if (run.on_progress) {
      run.on_progress(static_cast<double>(recorder.step()) / static_cast<double>(run.steps + 8));
    }
    return only > 0 ? steps < only : recorder.wants_step(steps);
  }
  /// Of the step, which the input pipeline makes ready.
  Task samples() {
    const Time since = world.now();
    const Time ready = input.ready(steps);
    if (ready <= since) co_return;
    record.awaits_samples();
    co_await world.at(When(ready));
    record.samples_came(since);
    co_await world.pause(main.wake_up, {});
  }
  /// Forward or backward, of one GPU after another.
  Task pass(std::size_t from, std::size_t to) {
    for (std::int32_t gpu = 0; gpu < ops.gpus(); ++gpu) {
      co_await process.push([this, gpu, from, to] {
        ops.call(main.pass);
        for (std::size_t i = from; i < to; ++i)
          say_segment(gpu, i);
      });
    }
  }
  Task exchange() {
    const std::size_t calls = record.calls();
    for (std::size_t call = 0; call < calls; ++call) {
      co_await push(call);
      if (!main.keys.pushes_first) co_await pull(call);
    }
    for (std::size_t call = 0; main.keys.pushes_first && call < calls; ++call)
      co_await pull(call);
  }
  Task push(std::size_t call) {
    return process.push([this, call] {
      const KeyRange keys = say_call(call);
      ops.call(main.keys.push + static_cast<std::int64_t>(keys.count) * main.updater);
      const std::size_t before = ops.operations();
      store->push(keys);
      record.said(call, ops.operations() - before);
    });
  }
  Task pull(std::size_t call) {
    co_await process.push([this, call] {
      const KeyRange keys = say_call(call);
      ops.call(main.keys.pull);
      const std::size_t before = ops.operations();
      store->pull(keys);
      record.said(call, ops.operations() - before);
    });
    record.pushed(call, steps);
  }
  Task update_metric() {
    co_await process.push([this] {
      ops.call(main.metric);
      ops.set_label(record.label_of_segment(graph.segments.size()));
      ops.wait(outputs);
    });
    co_await process.waited();
  }

  // What its operations are.

  KeyRange say_call(std::size_t call) {
    const KeyRange keys = record.keys(call);
    ops.set_priority(main.priority * static_cast<std::int32_t>(keys.first));
    ops.set_label(static_cast<std::uint32_t>(call));
    return keys;
  }
  void say_segment(std::int32_t gpu, std::size_t index) {
    const ComputeSegment& segment = graph.segments[index];
    const auto g = static_cast<std::size_t>(gpu);
    NodeOps::Variables reads;
    NodeOps::Variables writes{chains[g]};
    if (index + 1 == graph.forward_segments) writes.push_back(outputs[g]);
    const bool is_last = index + 1 == graph.segments.size();
    const auto add = [&](std::size_t key) {
      if (segment.is_backward)
        writes.push_back(ops.gradient(key, gpu));
      else
        reads.push_back(ops.weight(key, gpu));
    };
    if (graph.after_backward && is_last) {
      for (std::size_t key = 0; key < graph.keys.size(); ++key)
        add(key);
    } else if (!graph.after_backward || !segment.is_backward) {
      for (const std::int32_t key : segment.keys)
        add(static_cast<std::size_t>(key));
    }
    ops.set_label(record.label_of_segment(index));
    ops.compute(gpu, segment.duration, reads, writes);
  }
  std::vector<KeyRange> key_calls(std::int64_t keys_per_call, bool backward) const {
    const std::size_t keys = graph.keys.size();
    const auto each = static_cast<std::size_t>(keys_per_call);
    std::vector<KeyRange> calls;
    for (std::size_t done = 0; done < keys; done += each) {
      const std::size_t count = std::min(each, keys - done);
      calls.push_back({backward ? keys - done - count : done, count});
    }
    return calls;
  }

  const TrainingGraph& graph;
  const ProcessCalls main;
  const ModuleRun& run;
  std::int64_t only;
  World world;
  InputPipeline input;
  RankRecord recorder;
  ModuleRecord record;
  NodeOps ops;
  NodeRank process;
  std::unique_ptr<KvStore> store;
  NodeOps::Variables chains;   ///< each GPU's segments write theirs, and so follow one another
  NodeOps::Variables outputs;  ///< each GPU's forward pass writes its own
  std::int64_t steps = 0;      ///< the main thread is through with as many
};

/// Operations of a step, as MXNet has them for `device`; trees in slices take more.
void check_size(const TrainingGraph& graph, Duration input, const ModuleRun& run) {
  const auto gpus = static_cast<double>(run.cluster.gpus_per_node);
  const double operations = gpus * (static_cast<double>(graph.segments.size()) +
                                    4 * static_cast<double>(graph.keys.size()));
  const bool varies = run.variation.any();
  const auto period = static_cast<double>(run.update.period());
  const double steps = (varies ? static_cast<double>(run.steps) + 8 * period : 72 * period) +
                       static_cast<double>(run.learning);
  constexpr double kMostSeconds = 4e6;
  if (!(to_seconds(input) * steps <= kMostSeconds)) {
    throw PlacedError(
        fmt::format("/workload/input: the samples of {} steps take {} s each, more than the {} s "
                    "that can be simulated",
                    steps, to_seconds(input), kMostSeconds));
  }
  if (run.timeline != nullptr) check_bars(operations * steps);
  check_events(8 * operations * steps * static_cast<double>(run.seeds), "/run/steps", "events",
               "fewer steps are fewer");
}

}  // namespace

EmbeddedStep module_step(const StepPlan& plan, const Workload& workload,
                         std::span<const GradientUnit> units, const ModuleRun& run) {
  const ProcessCalls main = run.embedding.process_calls(run.aggregation);
  const TrainingGraph graph = training_graph(plan, workload, units, {}, main.bulk);
  check_size(graph, plan.input, run);
  ModuleRun alone = run;
  alone.timeline = nullptr;
  alone.on_progress = {};
  const auto play = [&](const StepPlan& of, bool draws) {
    ModuleRun played = run;
    if (!draws) played.timeline = nullptr;
    return Training(graph, main, played, of.input).play(of);
  };
  const bool draws = run.timeline != nullptr;
  EmbeddedStep step = run.variation.any() ? play(plan, draws) : paced_step(plan, draws, play);
  const std::int64_t period = run.update.period();
  step.cold = Training(graph, main, alone, plan.input, period).play_ends().back() / period;
  if (run.learning > 0)
    step.ends = Training(graph, main, alone, plan.input, run.learning).play_ends();
  return step;
}

}  // namespace steptime
