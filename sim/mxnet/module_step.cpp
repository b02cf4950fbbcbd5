#include "sim/mxnet/module_step.h"

#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/events/rank_timeline.h"
#include "sim/mxnet/gpu_process.h"
#include "sim/mxnet/paced_step.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

using Kind = GpuProcess::Kind;
using OperationId = GpuProcess::OperationId;

/// What the main thread's calls cost, and how it goes through the keys.
struct MainThread {
  Duration pass{};  ///< the call of a GPU's forward, or backward, pass
  IssuingThread keys;
  Duration update{};  ///< the optimizer's call for a key
  Duration metric{};
  Duration wake_up{};
  std::int64_t bulk = 1;
  bool backward_keys = false;
  std::int32_t priority = -1;  ///< of key k this times k
};

MainThread main_thread(const ModuleRun& run) {
  if (run.settings == nullptr) {
    return {.keys = run.aggregation.issuing,
            .bulk = MxnetSettings{}.bulk,
            .priority = run.aggregation.servers.last_bucket_first ? -1 : 1};
  }
  const MxnetSettings& s = *run.settings;
  return {.pass = s.python_call,
          .keys = {.push = s.python_call, .pull = s.python_call, .pushes_first = false},
          .update = s.python_call,
          .metric = s.python_call,
          .wake_up = s.wake_up,
          .bulk = s.bulk,
          .backward_keys = s.backward_keys,
          .priority = s.equal_priorities ? 0 : -1};
}

/// An optimizer that takes no time at all is none: sums go back as they are, as where a kvstore has
/// no updater.
GpuProcess::Costs costs_of(const ModuleRun& run) {
  const Aggregation& aggregation = run.aggregation;
  GpuProcess::Costs costs{.copy_threads = aggregation.servers.copies_at_once,
                          .cpu_threads = aggregation.merge_threads,
                          .uses_host = aggregation.merge->place() == Merge::Place::kHost,
                          .variation = run.variation,
                          .seed = run.seed};
  if (run.settings == nullptr) return costs;
  costs.engine_push = run.settings->engine_push;
  costs.gpu_operation = run.settings->gpu_operation;
  costs.update = run.settings->update;
  costs.updates = costs.gpu_operation + costs.update > Duration{};
  return costs;
}

class ModuleTraining final : public GpuProcess::Observer {
 public:
  /// `only`: so many steps; 0: as many as tell what a step takes.
  ModuleTraining(const TrainingGraph& graph, const MainThread& main, const ModuleRun& run,
                 Duration input, std::int64_t only = 0)
      : graph_(graph),
        main_(main),
        run_(run),
        clock_(world_.engine),
        input_(input),
        only_(only),
        recorder_(clock_, graph, run.variation.any() ? std::optional(run.steps) : std::nullopt,
                  only > 0 ? nullptr : &input_, run.update.period()),
        process_(world_, run.cluster, costs_of(run), graph.keys.size(), this) {
    std::vector<std::int64_t> bytes;
    for (const GradientKey& key : graph.keys)
      bytes.push_back(key.bytes.count);
    const auto store =
        run.aggregation.merge->init(process_, bytes, *run.aggregation.servers.sharding);
    for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
      chains_.push_back(process_.variable());
      outputs_.push_back(process_.variable());
      drawn_.emplace_back(run.timeline, gpu);
    }
    drawn_.emplace_back(run.timeline, "host");
    add_calls();
    add_period(*store);
  }

  /// When the last operation of each step ends.
  std::vector<Duration> play_ends() {
    begin_step();
    world_.run();
    return ends_;
  }

  EmbeddedStep play(const StepPlan& plan) {
    begin_step();
    world_.run();
    STEPTIME_CHECK(process_.pending() == 0 && recorder_.is_complete(),
                   "an operation of kvstore never ends");
    EmbeddedStep step{.attribution = recorder_.attribution()};
    step.buckets.assign(recorder_.key_times().rbegin(), recorder_.key_times().rend());
    std::vector<Duration> ends;
    for (const auto& bucket : step.buckets)
      ends.push_back(bucket.end);
    const Attribution& a = step.attribution;
    step.times = {recorder_.step_time(),
                  a.hidden_under_backward + a.hidden_under_forward + a.exposed,
                  recorder_.step_time() - plan.forward - plan.backward - a.input,
                  mix(step_fingerprint(plan.forward, plan.backward, ends),
                      static_cast<std::uint64_t>(recorder_.step_time().count())),
                  a.input};
    step.links = process_.links(static_cast<double>(step_));
    return step;
  }

 private:
  /// The keys of one call, and what of it is under way, by exchange modulo 2.
  struct Call {
    KeyRange keys;
    std::int64_t operations = 0;            ///< in an exchange
    std::array<std::int64_t, 2> missing{};  ///< of these
    std::array<bool, 2> is_under_way{};
    std::int64_t over = 0;  ///< exchanges in which it is
  };

  void add_calls() {
    const std::size_t keys = graph_.keys.size();
    const auto each = static_cast<std::size_t>(run_.aggregation.merge->keys_per_call());
    for (std::size_t done = 0; done < keys; done += each) {
      const std::size_t count = std::min(each, keys - done);
      calls_.push_back({.keys = {main_.backward_keys ? keys - done - count : done, count}});
    }
  }

  /// Labels are the number of a call, or behind these of a segment.
  std::size_t index_of(OperationId id) const { return process_.engine().label(id); }
  void set_label(std::size_t index) { process_.set_label(static_cast<std::uint32_t>(index)); }
  static std::size_t parity_of(std::int64_t exchange) {
    return static_cast<std::size_t>(exchange % 2);
  }
  std::int64_t step_of(OperationId id) const { return process_.step(id); }
  /// Of an operation of a call.
  std::int64_t exchange_of(OperationId id) const { return step_of(id) / run_.update.period(); }

  void begin_step() {
    ++step_;
    if (run_.on_progress) {
      run_.on_progress(static_cast<double>(recorder_.step()) / static_cast<double>(run_.steps + 8));
    }
    if (only_ > 0 ? step_ == only_ : !recorder_.wants_step(step_)) return;
    if (run_.update.exchanges(step_)) {
      for (Call& call : calls_)
        call.missing[parity_of(step_ / run_.update.period())] += call.operations;
    }
    const Duration wake_up = step_ > 0 ? main_.wake_up : Duration{};
    process_.begin_step(wake_up + await_samples(clock_.now() + wake_up));
  }

  /// Of the step, which the input pipeline makes ready. Returns how long that takes from `since`
  /// on.
  Duration await_samples(Time since) {
    const Time ready = input_.ready(step_);
    if (ready <= since) return {};
    clock_.at(since, Phase::kNormal, [this] {
      awaits_samples_ = true;
      tell_missing_samples();
    });
    clock_.at(ready, Phase::kNormal, [this] {
      awaits_samples_ = false;
      recorder_.samples_came();
    });
    if (run_.timeline != nullptr) drawn_.back().add("main thread", "next batch", since, ready);
    return ready - since + main_.wake_up;
  }
  /// Tells the recorder when GPU 0, whose first segment comes next, waits for nothing else.
  void tell_missing_samples() {
    if (awaits_samples_ && process_.engine().next_is_free()) recorder_.waits_for_samples();
  }

  /// All that repeats.
  void add_period(KvStore& store) {
    for (std::int64_t step = 0; step < run_.update.period(); ++step) {
      pass(0, graph_.forward_segments);
      pass(graph_.forward_segments, graph_.segments.size());
      if (run_.update.exchanges(step)) exchange(store);
      process_.call(main_.metric);
      set_label(calls_.size() + graph_.segments.size());
      process_.wait(outputs_);
    }
  }

  void exchange(KvStore& store) {
    if (main_.keys.pushes_first) {
      for (std::size_t call = 0; call < calls_.size(); ++call)
        push(store, call);
      for (std::size_t call = 0; call < calls_.size(); ++call)
        pull(store, call);
    } else {
      for (std::size_t call = 0; call < calls_.size(); ++call) {
        push(store, call);
        pull(store, call);
      }
    }
  }

  void pass(std::size_t from, std::size_t to) {
    for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
      process_.call(main_.pass);
      for (std::size_t i = from; i < to; ++i)
        push_segment(gpu, i);
    }
  }
  void push_segment(std::int32_t gpu, std::size_t index) {
    const ComputeSegment& segment = graph_.segments[index];
    GpuProcess::Variables reads;
    GpuProcess::Variables writes{chains_[static_cast<std::size_t>(gpu)]};
    if (index + 1 == graph_.forward_segments)
      writes.push_back(outputs_[static_cast<std::size_t>(gpu)]);
    const bool is_last = index + 1 == graph_.segments.size();
    const auto add = [&](std::size_t key) {
      if (segment.is_backward)
        writes.push_back(process_.gradient(key, gpu));
      else
        reads.push_back(process_.weight(key, gpu));
    };
    if (graph_.after_backward && is_last) {
      for (std::size_t key = 0; key < graph_.keys.size(); ++key)
        add(key);
    } else if (!graph_.after_backward || !segment.is_backward) {
      for (const std::int32_t key : segment.keys)
        add(static_cast<std::size_t>(key));
    }
    set_label(calls_.size() + index);
    process_.compute(gpu, segment.duration, reads, writes);
  }

  void push(KvStore& store, std::size_t call) {
    const KeyRange keys = begin_call(call);
    process_.call(main_.keys.push + static_cast<std::int64_t>(keys.count) * main_.update);
    const std::size_t before = process_.operations();
    store.push(keys);
    calls_[call].operations += static_cast<std::int64_t>(process_.operations() - before);
  }
  void pull(KvStore& store, std::size_t call) {
    const KeyRange keys = begin_call(call);
    process_.call(main_.keys.pull);
    const std::size_t before = process_.operations();
    store.pull(keys);
    calls_[call].operations += static_cast<std::int64_t>(process_.operations() - before);
  }
  KeyRange begin_call(std::size_t call) {
    const KeyRange keys = calls_[call].keys;
    process_.set_priority(main_.priority * static_cast<std::int32_t>(keys.first));
    set_label(call);
    return keys;
  }

  void started(OperationId id) override {
    if (run_.timeline != nullptr) starts_[id] = clock_.now();
    const GpuProcess::Operation& operation = process_.operation(id);
    if (operation.kind == Kind::kCompute && operation.gpu == 0) segment_started(id);
    if (index_of(id) >= calls_.size()) return;
    Call& call = calls_[index_of(id)];
    if (std::exchange(call.is_under_way[parity_of(exchange_of(id))], true)) return;
    for (std::size_t key = call.keys.first; key < call.keys.first + call.keys.count; ++key)
      recorder_.collective_started({static_cast<std::int32_t>(key), exchange_step(call.over)});
  }
  std::int64_t exchange_step(std::int64_t number) const {
    return (number + 1) * run_.update.period() - 1;
  }
  void segment_started(OperationId id) {
    const Ops::Variable waited_for = process_.engine().last_granted(id);
    const std::size_t key =
        waited_for == Ops::kPushed ? graph_.keys.size() : process_.key_of(waited_for);
    recorder_.segment_started(
        index_of(id) - calls_.size(), step_of(id),
        key < graph_.keys.size() ? std::optional(static_cast<std::int32_t>(key)) : std::nullopt);
  }

  void ended(OperationId id) override {
    take_note(id);
    tell_missing_samples();
  }
  void take_note(OperationId id) {
    const GpuProcess::Operation& operation = process_.operation(id);
    if (only_ > 0) {
      ends_.resize(static_cast<std::size_t>(only_));
      ends_[static_cast<std::size_t>(step_of(id))] = since_start(clock_.now());
    }
    if (run_.timeline != nullptr) draw(id);
    if (operation.kind == Kind::kWait) return begin_step();
    if (operation.kind == Kind::kCompute && operation.gpu == 0) {
      recorder_.segment_ended();
      const ComputeSegment& segment = graph_.segments[index_of(id) - calls_.size()];
      if (segment.is_backward) {
        for (const std::int32_t key : segment.keys)
          recorder_.gradient_ready(key);
      }
    }
    if (index_of(id) >= calls_.size()) return;
    Call& call = calls_[index_of(id)];
    const std::size_t parity = parity_of(exchange_of(id));
    if (--call.missing[parity] > 0) return;
    call.is_under_way[parity] = false;
    for (std::size_t key = call.keys.first; key < call.keys.first + call.keys.count; ++key)
      recorder_.collective_ended({static_cast<std::int32_t>(key), exchange_step(call.over)});
    ++call.over;
  }

  void draw(OperationId id) {
    const GpuProcess::Operation& operation = process_.operation(id);
    if (operation.kind == Kind::kWait) return;
    const bool computes = operation.kind == Kind::kCompute;
    const std::size_t index = index_of(id);
    const std::string& name = computes ? graph_.segments[index - calls_.size()].name
                                       : graph_.keys[calls_[index].keys.first].name;
    constexpr std::array kLanes{"copies", "sums", "NCCL launches", "NCCL", "compute", "updates"};
    const char* lane = kLanes[static_cast<std::size_t>(operation.kind)];
    const bool on_gpu = operation.gpu != GpuProcess::kHost;
    RankTimeline& actor = on_gpu ? drawn_[static_cast<std::size_t>(operation.gpu)] : drawn_.back();
    actor.add(lane, name, starts_[id], clock_.now(), details_of(id));
  }

  /// The flow of a key goes from its gradient on each GPU through all that is done to it.
  Timeline::Details details_of(OperationId id) const {
    const GpuProcess::Operation& operation = process_.operation(id);
    const auto& keys = graph_.keys;
    Timeline::Details details;
    std::size_t key = keys.size();
    if (operation.kind != Kind::kCompute) {
      const KeyRange range = calls_[index_of(id)].keys;
      key = range.first;
      if (operation.kind == Kind::kCopy) details.bytes = operation.bytes;
    } else if (const auto& segment = graph_.segments[index_of(id) - calls_.size()];
               segment.is_backward && !segment.keys.empty()) {
      key = static_cast<std::size_t>(segment.keys.front());
    }
    if (key == keys.size()) return details;
    const auto step = static_cast<std::size_t>(step_of(id));
    details.bucket = static_cast<std::int64_t>(keys.size() - 1 - key);  // they are in forward order
    details.tensors = keys[key].name;
    details.flow = flow_of(0, step * keys.size() + key);
    return details;
  }

  const TrainingGraph& graph_;
  const MainThread main_;
  const ModuleRun& run_;
  World world_;
  Engine& clock_;
  InputPipeline input_;
  std::int64_t only_;
  StepRecorder recorder_;
  GpuProcess process_;
  GpuProcess::Variables chains_;                  ///< of each GPU's segments
  GpuProcess::Variables outputs_;                 ///< of each GPU's forward pass
  std::vector<RankTimeline> drawn_;               ///< of each GPU and the host
  std::unordered_map<OperationId, Time> starts_;  ///< while drawing
  std::vector<Call> calls_;
  std::vector<Duration> ends_;  ///< of steps so far, where there are only some
  bool awaits_samples_ = false;
  std::int64_t step_ = -1;  ///< that the main thread has begun
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
  const MainThread main = main_thread(run);
  const TrainingGraph graph = training_graph(plan, workload, units, {}, main.bulk);
  check_size(graph, plan.input, run);
  ModuleRun alone = run;
  alone.timeline = nullptr;
  alone.on_progress = {};
  const auto play = [&](const StepPlan& of, bool draws) {
    ModuleRun played = run;
    if (!draws) played.timeline = nullptr;
    return ModuleTraining(graph, main, played, of.input).play(of);
  };
  const bool draws = run.timeline != nullptr;
  EmbeddedStep step = run.variation.any() ? play(plan, draws) : paced_step(plan, draws, play);
  const std::int64_t period = run.update.period();
  step.cold = ModuleTraining(graph, main, alone, plan.input, period).play_ends().back() / period;
  if (run.learning > 0)
    step.ends = ModuleTraining(graph, main, alone, plan.input, run.learning).play_ends();
  return step;
}

}  // namespace steptime
