#include "sim/mxnet/module_step.h"

#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/events/rank_timeline.h"
#include "sim/mxnet/gpu_process.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {
namespace {

using Kind = GpuProcess::Kind;

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
                          .uses_host = aggregation.merge->place() == Merge::Place::kHost};
  if (run.settings == nullptr) return costs;
  costs.engine_push = run.settings->engine_push;
  costs.gpu_operation = run.settings->gpu_operation;
  costs.update = run.settings->update;
  costs.updates = costs.gpu_operation + costs.update > Duration{};
  return costs;
}

class ModuleTraining final : public GpuProcess::Observer {
 public:
  ModuleTraining(const TrainingGraph& graph, const MainThread& main, const ModuleRun& run)
      : graph_(graph),
        main_(main),
        run_(run),
        recorder_(clock_, graph, run.variation.any() ? std::optional(run.steps) : std::nullopt),
        process_(clock_, run.cluster, costs_of(run), graph.keys.size(), this) {
    std::vector<std::int64_t> bytes;
    for (const GradientKey& key : graph.keys)
      bytes.push_back(key.bytes.count);
    store_ = run.aggregation.merge->init(process_, bytes, *run.aggregation.servers.sharding);
    for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
      chains_.push_back(process_.variable());
      outputs_.push_back(process_.variable());
      drawn_.emplace_back(run.timeline, gpu);
    }
    drawn_.emplace_back(run.timeline, "host");
    add_calls();
  }

  /// The first step alone: how long until its last operation has ended.
  Duration play_one() {
    stops_after_first_ = true;
    begin_step();
    clock_.run();
    return since_start(process_.end());
  }

  EmbeddedStep play(const StepPlan& plan) {
    begin_step();
    clock_.run();
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
                  recorder_.step_time() - plan.forward - plan.backward,
                  mix(step_fingerprint(plan.forward, plan.backward, ends),
                      static_cast<std::uint64_t>(recorder_.step_time().count()))};
    step.links = process_.links(static_cast<double>(step_));
    return step;
  }

 private:
  /// The keys of one call, and what of it is under way, by step modulo 2.
  struct Call {
    KeyRange keys;
    std::array<std::int64_t, 2> missing{};  ///< operations
    std::array<bool, 2> is_under_way{};
    std::int64_t over = 0;  ///< steps in which it is
  };

  void add_calls() {
    const std::size_t keys = graph_.keys.size();
    const auto each = static_cast<std::size_t>(run_.aggregation.merge->keys_per_call());
    for (std::size_t done = 0; done < keys; done += each) {
      const std::size_t count = std::min(each, keys - done);
      calls_.push_back({{main_.backward_keys ? keys - done - count : done, count}});
    }
  }

  std::size_t parity() const { return static_cast<std::size_t>(step_ % 2); }
  /// Labels are the number of a call, or behind these of a segment, twice, and the step's parity.
  void set_label(std::size_t index) { process_.set_label(2 * index + parity()); }
  static std::size_t index_of(const GpuProcess::Operation& operation) {
    return operation.label / 2;
  }
  std::int64_t step_of(const GpuProcess::Operation& operation) const {
    return step_ - (parity() != operation.label % 2 ? 1 : 0);
  }

  /// Enumerates what the main thread pushes in a step.
  void begin_step() {
    ++step_;
    if (run_.on_progress) {
      run_.on_progress(static_cast<double>(recorder_.step()) / static_cast<double>(run_.steps + 8));
    }
    if (stops_after_first_ ? step_ > 0 : !recorder_.wants_step(step_)) return;
    if (step_ > 0) process_.call(main_.wake_up);
    pass(0, graph_.forward_segments);
    pass(graph_.forward_segments, graph_.segments.size());
    if (main_.keys.pushes_first) {
      for (std::size_t call = 0; call < calls_.size(); ++call)
        push(call);
      for (std::size_t call = 0; call < calls_.size(); ++call)
        pull(call);
    } else {
      for (std::size_t call = 0; call < calls_.size(); ++call) {
        push(call);
        pull(call);
      }
    }
    process_.call(main_.metric);
    set_label(calls_.size() + graph_.segments.size());
    process_.wait(outputs_);
  }

  void pass(std::size_t from, std::size_t to) {
    for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
      process_.call(main_.pass);
      const double slowness =
          run_.variation.any() ? run_.variation.factor(run_.seed, gpu, step_) : 1;
      for (std::size_t i = from; i < to; ++i)
        push_segment(gpu, i, slowness);
    }
  }
  void push_segment(std::int32_t gpu, std::size_t index, double slowness) {
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
    const Duration length =
        slowness == 1 ? segment.duration : from_seconds(to_seconds(segment.duration) * slowness);
    process_.compute(gpu, length, std::move(reads), std::move(writes));
  }

  void push(std::size_t call) {
    const KeyRange keys = begin_call(call);
    process_.call(main_.keys.push + static_cast<std::int64_t>(keys.count) * main_.update);
    const std::size_t before = process_.pending();
    store_->push(keys);
    calls_[call].missing[parity()] += static_cast<std::int64_t>(process_.pending() - before);
  }
  void pull(std::size_t call) {
    const KeyRange keys = begin_call(call);
    process_.call(main_.keys.pull);
    const std::size_t before = process_.pending();
    store_->pull(keys);
    calls_[call].missing[parity()] += static_cast<std::int64_t>(process_.pending() - before);
  }
  KeyRange begin_call(std::size_t call) {
    const KeyRange keys = calls_[call].keys;
    process_.set_priority(main_.priority * static_cast<std::int32_t>(keys.first));
    set_label(call);
    return keys;
  }

  void started(const GpuProcess::Operation& operation) override {
    if (operation.kind == Kind::kCompute && operation.gpu == 0) segment_started(operation);
    if (index_of(operation) >= calls_.size()) return;
    Call& call = calls_[index_of(operation)];
    if (std::exchange(call.is_under_way[operation.label % 2], true)) return;
    for (std::size_t key = call.keys.first; key < call.keys.first + call.keys.count; ++key)
      recorder_.collective_started({static_cast<std::int32_t>(key), call.over});
  }
  void segment_started(const GpuProcess::Operation& operation) {
    const std::size_t key = operation.waited_for == DependencyEngine::kPushed
                                ? graph_.keys.size()
                                : process_.key_of(operation.waited_for);
    const std::size_t segment = index_of(operation) - calls_.size();
    if (segment == 0) ++recorded_;
    recorder_.segment_started(
        segment, recorded_,
        key < graph_.keys.size() ? std::optional(static_cast<std::int32_t>(key)) : std::nullopt);
  }

  void ended(const GpuProcess::Operation& operation) override {
    if (run_.timeline != nullptr) draw(operation);
    if (operation.kind == Kind::kWait) return begin_step();
    if (operation.kind == Kind::kCompute && operation.gpu == 0) {
      recorder_.segment_ended();
      const ComputeSegment& segment = graph_.segments[index_of(operation) - calls_.size()];
      if (segment.is_backward) {
        for (const std::int32_t key : segment.keys)
          recorder_.gradient_ready(key);
      }
    }
    if (index_of(operation) >= calls_.size()) return;
    Call& call = calls_[index_of(operation)];
    const std::size_t step = operation.label % 2;
    if (--call.missing[step] > 0) return;
    call.is_under_way[step] = false;
    for (std::size_t key = call.keys.first; key < call.keys.first + call.keys.count; ++key)
      recorder_.collective_ended({static_cast<std::int32_t>(key), call.over});
    ++call.over;
  }

  void draw(const GpuProcess::Operation& operation) {
    if (operation.kind == Kind::kWait) return;
    const bool computes = operation.kind == Kind::kCompute;
    const std::size_t index = index_of(operation);
    const std::string& name = computes ? graph_.segments[index - calls_.size()].name
                                       : graph_.keys[calls_[index].keys.first].name;
    constexpr std::array kLanes{"copies", "sums", "NCCL launches", "NCCL", "compute", "updates"};
    const char* lane = kLanes[static_cast<std::size_t>(operation.kind)];
    const bool on_gpu = operation.gpu != GpuProcess::kHost;
    RankTimeline& actor = on_gpu ? drawn_[static_cast<std::size_t>(operation.gpu)] : drawn_.back();
    actor.add(lane, name, operation.started, clock_.now(), details_of(operation));
  }

  /// The flow of a key goes from its gradient on each GPU through all that is done to it.
  Timeline::Details details_of(const GpuProcess::Operation& operation) const {
    const auto& keys = graph_.keys;
    Timeline::Details details;
    std::size_t key = keys.size();
    if (operation.kind != Kind::kCompute) {
      const KeyRange range = calls_[index_of(operation)].keys;
      key = range.first;
      if (operation.kind == Kind::kCopy) details.bytes = operation.bytes;
    } else if (const auto& segment = graph_.segments[index_of(operation) - calls_.size()];
               segment.is_backward && !segment.keys.empty()) {
      key = static_cast<std::size_t>(segment.keys.front());
    }
    if (key == keys.size()) return details;
    const auto step = static_cast<std::size_t>(step_of(operation));
    details.bucket = static_cast<std::int64_t>(keys.size() - 1 - key);  // they are in forward order
    details.tensors = keys[key].name;
    details.flow = flow_of(0, step * keys.size() + key);
    return details;
  }

  const TrainingGraph& graph_;
  const MainThread main_;
  const ModuleRun& run_;
  Engine clock_;
  StepRecorder recorder_;
  GpuProcess process_;
  std::unique_ptr<KvStore> store_;
  GpuProcess::Variables chains_;     ///< of each GPU's segments
  GpuProcess::Variables outputs_;    ///< of each GPU's forward pass
  std::vector<RankTimeline> drawn_;  ///< of each GPU and the host
  std::vector<Call> calls_;
  bool stops_after_first_ = false;
  std::int64_t step_ = -1;      ///< that the main thread has begun
  std::int64_t recorded_ = -1;  ///< that GPU 0 has begun
};

/// Operations of a step, as MXNet has them for `device`; trees in slices take more.
void check_size(const TrainingGraph& graph, const ModuleRun& run) {
  const auto gpus = static_cast<double>(run.cluster.gpus_per_node);
  const double operations = gpus * (static_cast<double>(graph.segments.size()) +
                                    4 * static_cast<double>(graph.keys.size()));
  const bool varies = run.variation.any();
  const double steps = varies ? static_cast<double>(run.steps + 8) : 72;
  if (run.timeline != nullptr) check_bars(operations * steps);
  check_events(8 * operations * steps, "/run/steps", "events", "fewer steps are fewer");
}

}  // namespace

EmbeddedStep module_step(const StepPlan& plan, const Workload& workload,
                         std::span<const GradientUnit> units, const ModuleRun& run) {
  const MainThread main = main_thread(run);
  const TrainingGraph graph = training_graph(plan, workload, units, {}, main.bulk);
  check_size(graph, run);
  EmbeddedStep step = ModuleTraining(graph, main, run).play(plan);
  ModuleRun alone = run;
  alone.timeline = nullptr;
  alone.on_progress = {};
  step.cold = ModuleTraining(graph, main, alone).play_one();
  return step;
}

}  // namespace steptime
