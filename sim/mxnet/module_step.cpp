#include "sim/mxnet/module_step.h"

#include "sim/core/error.h"
#include "sim/core/limits.h"
#include "sim/events/rank_timeline.h"
#include "sim/mxnet/mean_step.h"
#include "sim/mxnet/node_process.h"
#include "sim/mxnet/paced_step.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Where no framework is modelled, calls cost nothing but what the aggregation says.
MxnetSettings settings_of(const Embedding& embedding) {
  return embedding.has_main_thread() ? embedding.settings() : MxnetSettings{};
}

/// An optimizer that takes no time at all is none: sums go back as they are, as where a kvstore has
/// no updater.
NodeProcess::Costs costs_of(const ModuleRun& run) {
  const Aggregation& aggregation = run.aggregation;
  const MxnetSettings settings = settings_of(run.embedding);
  return {.engine_push = settings.engine_push,
          .gpu_operation = settings.gpu_operation,
          .copy_threads = aggregation.servers.copies.threads,
          .cpu_threads = aggregation.merge_threads,
          .updates = settings.gpu_operation + settings.update > Duration{},
          .update = settings.update,
          .uses_host = run.embedding.merge(aggregation)->place() == Merge::Place::kHost,
          .variation = run.variation,
          .seed = run.seed};
}

/// The process that trains. Labels of its operations are the number of a call, or behind these of a
/// segment.
class Training final : public NodeProcess {
 public:
  /// `only`: so many steps; 0: as many as tell what a step takes.
  Training(World& world, const TrainingGraph& graph, const ModuleRun& run, Duration input,
           std::int64_t only = 0);
  void play();
  /// `causes`: what the world keeps; null: none.
  EmbeddedStep result(const StepPlan& plan, const Causes* causes) const;
  /// By step, when its last operation ended.
  const std::vector<Duration>& ends() const { return ends_; }

 private:
  /// Keys that are pushed, and pulled, in one call, and what of that is under way, by exchange
  /// modulo 2.
  struct Call {
    KeyRange keys;
    std::int64_t operations = 0;          ///< in an exchange
    std::array<std::int64_t, 2> ended{};  ///< operations of the exchange that are over
    std::array<bool, 2> is_pushed{};
    std::array<bool, 2> is_under_way{};
    std::int64_t over = 0;  ///< exchanges in which it is
  };

  // The program of the main thread.
  Task main_thread();
  bool wants_step();
  Task samples();
  Task pass(std::size_t from, std::size_t to);
  Task exchange();
  Task push_keys(Call& of);
  Task pull_keys(Call& of);
  Task push_call(Call& of, Duration takes, void (KvStore::*action)(KeyRange));
  Task update_metric();
  void say_segment(std::int32_t gpu, std::size_t index);

  Duration compute_of_slowest() const;

  // What is seen of it.
  void has_started(OperationId id) override;
  void has_ended(OperationId id) override;
  bool is_segment(OperationId id) const { return label(id) >= calls_.size(); }
  const ComputeSegment& segment(OperationId id) const {
    return graph_.segments[label(id) - calls_.size()];
  }
  std::size_t parity_of(std::int64_t step) const {
    return static_cast<std::size_t>(step / run_.update.period() % 2);
  }
  void tell(void (RankRecord::*what)(Communicators::Subject), const Call& of);
  void end_if_over(Call& of, std::size_t parity);
  void tell_missing_samples();
  void draw(OperationId id);

  const TrainingGraph& graph_;
  const ModuleRun& run_;
  const MxnetSettings settings_;
  std::int64_t only_;
  InputPipeline input_;
  RankRecord record_;
  std::vector<Call> calls_;
  std::unique_ptr<KvStore> store_;
  Variables chains_;        ///< each GPU's segments write theirs, and so follow one another
  Variables outputs_;       ///< each GPU's forward pass writes its own
  std::int64_t steps_ = 0;  ///< the main thread is through with as many
  bool awaits_samples_ = false;
  std::vector<Duration> ends_;
  std::vector<RankTimeline> drawn_;               ///< each GPU's, then the host's
  std::unordered_map<OperationId, Time> starts_;  ///< while drawing
};

Training::Training(World& world, const TrainingGraph& graph, const ModuleRun& run, Duration input,
                   std::int64_t only)
    : NodeProcess(world, run.cluster, costs_of(run), graph.keys.size(), true),
      graph_(graph),
      run_(run),
      settings_(settings_of(run.embedding)),
      only_(only),
      input_(input),
      record_(world.engine, graph, run.variation.any() ? std::optional(run.steps) : std::nullopt,
              only > 0 ? nullptr : &input_, run.update.period()) {
  std::vector<std::int64_t> bytes;
  for (const GradientKey& key : graph.keys)
    bytes.push_back(key.bytes.count);
  const Merge& merge = *run.embedding.merge(run.aggregation);
  store_ = merge.init(*this, bytes, *run.aggregation.servers.sharding);
  chains_ = variables(static_cast<std::size_t>(gpus()));
  outputs_ = variables(static_cast<std::size_t>(gpus()));
  const auto each = static_cast<std::size_t>(merge.keys_per_call());
  for (std::size_t done = 0; done < bytes.size(); done += each) {
    const std::size_t count = std::min(each, bytes.size() - done);
    const std::size_t first = settings_.backward_keys ? bytes.size() - done - count : done;
    calls_.push_back({.keys = {first, count}});
  }
  for (std::int32_t gpu = 0; gpu < gpus(); ++gpu)
    drawn_.emplace_back(run.timeline, gpu);
  drawn_.emplace_back(run.timeline, "host");
}

void Training::play() {
  world_.start({"main thread"}, main_thread());
  world_.run();
  world_.expect_over();
  STEPTIME_CHECK(pending() == 0, "an operation of kvstore never ends");
}

EmbeddedStep Training::result(const StepPlan& plan, const Causes* causes) const {
  const Attribution a = record_.attribution();
  const Duration compute =
      run_.variation.any() ? compute_of_slowest() : plan.forward + plan.backward;
  EmbeddedStep step = recorded_step(
      plan, record_, compute, a.hidden_under_backward + a.hidden_under_forward + a.exposed, causes);
  step.links = links(static_cast<double>(steps_));
  return step;
}

/// Of a mean step: GPUs wait for each other at the end of a period.
Duration Training::compute_of_slowest() const {
  const auto computed = [&](std::int64_t gpu, std::int64_t step) {
    const double factor = run_.variation.factor(run_.seed, gpu, step);
    Duration sum{};
    for (const ComputeSegment& segment : graph_.segments)
      sum += scaled(segment.duration, factor);
    return sum;
  };
  const MeetingSteps steps{record_.measured_from(), record_.measured_to(), run_.update.period()};
  return computed_by_slowest(steps, gpus(), computed) / (steps.last - steps.first);
}

Task Training::main_thread() {
  for (; wants_step(); ++steps_) {
    if (steps_ % run_.update.period() == 0)
      begin_period();
    else
      begin_step();
    if (steps_ > 0) co_await world_.pause(settings_.wake_up, reasons_.wake_ups);
    co_await samples();
    co_await pass(0, graph_.forward_segments);
    co_await pass(graph_.forward_segments, graph_.segments.size());
    if (run_.update.exchanges(steps_)) co_await exchange();
    co_await update_metric();
  }
}

bool Training::wants_step() {
  if (run_.on_progress)
    run_.on_progress(static_cast<double>(record_.step()) / static_cast<double>(run_.steps + 8));
  return only_ > 0 ? steps_ < only_ : record_.wants_step(steps_);
}

/// Of the step, which the input pipeline makes ready.
Task Training::samples() {
  const Time since = world_.now();
  const Time ready = input_.ready(steps_);
  if (ready <= since) co_return;
  awaits_samples_ = true;
  tell_missing_samples();
  co_await world_.pause(ready - since, record_.input());
  awaits_samples_ = false;
  record_.samples_came();
  drawn_.back().add("main thread", "next batch", since, world_.now());
  co_await world_.pause(settings_.wake_up, reasons_.wake_ups);
}

/// Forward or backward, of one GPU after another.
Task Training::pass(std::size_t from, std::size_t to) {
  for (std::int32_t gpu = 0; gpu < gpus(); ++gpu) {
    co_await push([this, gpu, from, to] {
      call(settings_.python_call);
      for (std::size_t i = from; i < to; ++i)
        say_segment(gpu, i);
    });
  }
}

Task Training::exchange() {
  const bool pushes_first =
      !run_.embedding.has_main_thread() && run_.aggregation.issuing.pushes_first;
  for (Call& each : calls_) {
    co_await push_keys(each);
    if (!pushes_first) co_await pull_keys(each);
  }
  for (Call& each : calls_) {
    if (pushes_first) co_await pull_keys(each);
  }
}

Task Training::push_keys(Call& of) {
  const std::int64_t calls = store_->push_calls(static_cast<std::int64_t>(of.keys.count));
  return push_call(of, run_.aggregation.issuing.push + calls * settings_.python_call,
                   &KvStore::push);
}

Task Training::pull_keys(Call& of) {
  co_await push_call(of,
                     run_.aggregation.issuing.pull + store_->pull_calls() * settings_.python_call,
                     &KvStore::pull);
  of.is_pushed[parity_of(steps_)] = true;
  end_if_over(of, parity_of(steps_));
}

/// Key k has k times the priority of key 1.
Task Training::push_call(Call& of, Duration takes, void (KvStore::*action)(KeyRange)) {
  return push([this, &of, takes, action] {
    const std::int32_t priority = !run_.embedding.has_main_thread()
                                      ? run_.aggregation.servers.copies.priority()
                                      : (settings_.equal_priorities ? 0 : -1);
    set_priority(priority * static_cast<std::int32_t>(of.keys.first));
    set_label(static_cast<std::uint32_t>(&of - calls_.data()));
    call(takes);
    const std::size_t before = operations();
    (store_.get()->*action)(of.keys);
    of.operations += static_cast<std::int64_t>(operations() - before);
  });
}

Task Training::update_metric() {
  co_await push([this] {
    call(settings_.python_call);
    set_label(static_cast<std::uint32_t>(calls_.size() + graph_.segments.size()));
    wait(outputs_);
  });
  co_await waited();
}

void Training::say_segment(std::int32_t gpu, std::size_t index) {
  const ComputeSegment& segment = graph_.segments[index];
  const auto g = static_cast<std::size_t>(gpu);
  Variables reads;
  Variables writes{chains_[g]};
  if (index + 1 == graph_.forward_segments) writes.push_back(outputs_[g]);
  const bool is_last = index + 1 == graph_.segments.size();
  const auto add = [&](std::size_t key) {
    if (segment.is_backward)
      writes.push_back(gradient(key, gpu));
    else
      reads.push_back(weight(key, gpu));
  };
  if (graph_.after_backward && is_last) {
    for (std::size_t key = 0; key < graph_.keys.size(); ++key)
      add(key);
  } else if (!graph_.after_backward || !segment.is_backward) {
    for (const std::int32_t key : segment.keys)
      add(static_cast<std::size_t>(key));
  }
  set_label(static_cast<std::uint32_t>(calls_.size() + index));
  compute(gpu, segment.duration, segment.is_backward ? reasons_.backward : reasons_.forward, reads,
          writes);
}

void Training::has_started(OperationId id) {
  if (run_.timeline != nullptr) starts_[id] = world_.now();
  const Operation& of = operation(id);
  if (of.kind == Kind::kCompute && of.gpu == 0)
    record_.segment_started(label(id) - calls_.size(), step(id), key_of(last_granted(id)));
  if (is_segment(id)) return;
  Call& call = calls_[label(id)];
  if (std::exchange(call.is_under_way[parity_of(step(id))], true)) return;
  tell(&RankRecord::collective_started, call);
}

void Training::has_ended(OperationId id) {
  const Operation& of = operation(id);
  const auto number = static_cast<std::size_t>(step(id));
  ends_.resize(std::max(ends_.size(), number + 1));
  ends_[number] = since_start(world_.now());
  if (run_.timeline != nullptr) draw(id);
  if (of.kind == Kind::kCompute && of.gpu == 0) record_.segment_ended();
  if (!is_segment(id)) {
    Call& call = calls_[label(id)];
    const std::size_t parity = parity_of(step(id));
    ++call.ended[parity];
    end_if_over(call, parity);
  }
  tell_missing_samples();
}

/// Of all keys of the call, in the exchange that is over next.
void Training::tell(void (RankRecord::*what)(Communicators::Subject), const Call& of) {
  for (std::size_t key = of.keys.first; key < of.keys.first + of.keys.count; ++key)
    (record_.*what)({static_cast<std::int32_t>(key), (of.over + 1) * run_.update.period() - 1});
}

void Training::end_if_over(Call& of, std::size_t parity) {
  if (!of.is_pushed[parity] || of.ended[parity] < of.operations) return;
  of.ended[parity] = 0;
  if (!of.is_under_way[parity]) tell(&RankRecord::collective_started, of);  // it has no operations
  of.is_pushed[parity] = of.is_under_way[parity] = false;
  tell(&RankRecord::collective_ended, of);
  ++of.over;
}

/// When GPU 0, whose first segment comes next, waits for nothing else.
void Training::tell_missing_samples() {
  if (awaits_samples_ && next_is_free()) record_.waits_for_samples();
}

void Training::draw(OperationId id) {
  const Operation& of = operation(id);
  if (of.kind == Kind::kWait) return;
  const auto key = is_segment(id)
                       ? segment(id).first_gradient()
                       : std::optional(static_cast<std::int32_t>(calls_[label(id)].keys.first));
  const std::string& name =
      is_segment(id) ? segment(id).name : graph_.keys[static_cast<std::size_t>(*key)].name;
  Timeline::Details details = graph_.details(0, step(id), key);
  if (of.kind == Kind::kCopy) details.bytes = of.bytes;
  constexpr std::array kLanes{"copies", "sums", "NCCL launches", "NCCL", "compute", "updates"};
  RankTimeline& actor = of.gpu != kHost ? drawn_[static_cast<std::size_t>(of.gpu)] : drawn_.back();
  actor.add(kLanes[static_cast<std::size_t>(of.kind)], name, starts_[id], world_.now(),
            std::move(details));
}

/// Operations of a step, as MXNet has them for `device`; trees in slices take more.
void check_size(const TrainingGraph& graph, Duration input, const ModuleRun& run) {
  const auto gpus = static_cast<double>(run.cluster.gpus_per_node);
  const double operations = gpus * (static_cast<double>(graph.segments.size()) +
                                    4 * static_cast<double>(graph.keys.size()));
  const bool varies = run.variation.any();
  const auto period = static_cast<double>(run.update.period());
  const double steps = (varies ? static_cast<double>(run.steps) + 8 * period : 72 * period) +
                       static_cast<double>(run.learning);
  if (!(to_seconds(input) * steps <= kLongestSeconds)) {
    throw PlacedError(
        fmt::format("/workload/input: the samples of {} steps take {} s each, more than the {} s "
                    "that can be simulated",
                    steps, to_seconds(input), kLongestSeconds));
  }
  if (run.timeline != nullptr) check_bars(operations * steps);
  check_events(8 * operations * steps * static_cast<double>(run.seeds), "/run/steps", "events",
               "fewer steps are fewer");
}

}  // namespace

EmbeddedStep module_step(const StepPlan& plan, const Workload& workload,
                         std::span<const GradientUnit> units, const ModuleRun& run) {
  const TrainingGraph graph =
      training_graph(plan, workload, units, {}, settings_of(run.embedding).bulk);
  check_size(graph, plan.input, run);
  const auto play = [&](const StepPlan& of, bool draws) {
    ModuleRun played = run;
    if (!draws) played.timeline = nullptr;
    Causes kept;
    Causes* const causes = run.attributes ? &kept : nullptr;
    World world(causes);
    Training training(world, graph, played, of.input);
    training.play();
    return training.result(of, causes);
  };
  const auto ends_of = [&](std::int64_t steps) {
    ModuleRun alone = run;
    alone.timeline = nullptr;
    alone.on_progress = {};
    World world;
    Training training(world, graph, alone, plan.input, steps);
    training.play();
    return training.ends();
  };
  const bool draws = run.timeline != nullptr;
  EmbeddedStep step = run.variation.any() ? play(plan, draws) : paced_step(plan, draws, play);
  const std::int64_t period = run.update.period();
  step.cold = ends_of(period).back() / period;
  if (run.learning > 0) step.ends = ends_of(run.learning);
  return step;
}

}  // namespace steptime
