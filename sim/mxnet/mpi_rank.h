// One rank of data-parallel training in MXNet with MPI: a main thread, a dependency engine, a GPU.
// Main-thread programs (schedulers/embedding_*.cpp) are written against its public part, which
// reads like the framework's API. A program does the same in every period of the update. What its
// operations read and write is in rank_ops.h.
#pragma once
#include "sim/core/random.h"
#include "sim/events/rank_timeline.h"
#include "sim/events/run_ahead.h"
#include "sim/learning/update.h"
#include "sim/mxnet/client_steps.h"
#include "sim/mxnet/communicators.h"
#include "sim/mxnet/engine_reasons.h"
#include "sim/mxnet/input_pipeline.h"
#include "sim/mxnet/op_engine.h"
#include "sim/mxnet/rank_gpus.h"
#include "sim/mxnet/rank_ops.h"
#include "sim/mxnet/rank_record.h"
#include "sim/mxnet/settings.h"
#include "sim/mxnet/training_graph.h"
#include "sim/runtime/world.h"
#include "sim/workload/variation.h"

#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace steptime {

class MpiRank final : private OpEngine::Listener {
 public:
  using OperationId = OpEngine::OperationId;

  /// What the ranks of a run share.
  struct Run {
    Engine& clock;
    const TrainingGraph& graph;
    const MxnetSettings& settings;
    RankOps& operations;
    Communicators& communicators;
    RankRecord& recorder;  ///< records rank 0
    ClientSteps& steps;
    const InputPipeline& input;
    const EngineReasons& reasons;
    RandomStream random;
    const Variation& variation;
    const Update& update;
    bool adds_up = true;    ///< what it trains has the gradients of other ranks, too
    std::int64_t seed = 1;  ///< what the variation is drawn with
    /// Else all but rank 0, which is recorded, run ahead; clients that do not wait for each other
    /// have one clock.
    bool one_clock = true;
    RankGpus* gpus = nullptr;  ///< null: collectives do not slow them down; else there is one clock
  };

  MpiRank(const Run& run, std::int32_t rank, Timeline* timeline);
  ~MpiRank() override = default;
  MpiRank(const MpiRank&) = delete;
  MpiRank& operator=(const MpiRank&) = delete;

  // For main-thread programs. Whatever takes time is awaited; the program's own share of an
  // operation passes before it is pushed.

  /// Key numbers in the order in which the program is to go through them.
  const std::vector<std::int32_t>& keys() const { return run_.operations.keys(); }

  /// Awaited: the program's own time has passed.
  struct Spent {
    MpiRank& worker;
    bool await_ready() const { return worker.nothing_owed(); }
    void await_suspend(Suspended program) const { worker.pass_owed_time(program); }
    void await_resume() const {}
  };
  /// Awaited: false when the run is over.
  struct NextBatch : Spent {
    bool await_resume() const { return worker.begin_step(); }
  };
  NextBatch next_batch() { return {{*this}}; }
  /// Of that batch, which the input pipeline of the node makes ready.
  Task samples();

  /// One call of the Python API. Its time passes with that of what is awaited next.
  std::suspend_never python_call() {
    owed_.calls += run_.settings.python_call;
    return {};
  }

  /// Pushes an operation.
  struct Push : Spent {
    RankOps::Label label;
    bool await_ready() const { return label == RankOps::kNoLabel || worker.nothing_owed(); }
    void await_resume() const {
      if (label != RankOps::kNoLabel) worker.push(label);
    }
  };
  /// What is sent of keys from now on: copied to the host, reduced, and copied back.
  void sends(Payload what) {
    payload_ = what;
    if (what == Payload::kParametersBeside) updates_by_ = what;
  }
  Push copy_to_host(std::int32_t key) { return pushing(Kind::kCopyToHost, key, payload_); }
  /// An all-reduce of the host buffer on a thread of the engine: reads the gradient (so that the
  /// next backward pass waits), mutates the buffer.
  Push push_all_reduce(std::int32_t key) { return pushing(Kind::kAllReduce, key, payload_); }
  /// An all-reduce and the copy back in one operation, which mutates gradient and dummy.
  Push push_chained_all_reduce(std::int32_t key) { return pushing(Kind::kChained, key, payload_); }
  /// KVStore.Pull: a call of the Python API that copies the host buffer back.
  Push pull(std::int32_t key) {
    python_call();
    return pushing(Kind::kCopyToDevice, key, payload_);
  }
  /// SGD.Update, by what was pulled beside the step, too: a call of the Python API.
  Push update(std::int32_t key) {
    python_call();
    return pushing(Kind::kUpdate, key, updates_by_);
  }
  /// What has come back is used: a gradient by the update; parameters are where they belong.
  Push use(std::int32_t key) {
    return payload_ == Payload::kGradient ? update(key) : Push{{*this}, RankOps::kNoLabel};
  }
  /// Whether clients exchange anything in this step.
  bool exchanges() const { return run_.update.exchanges(step_); }
  /// Whether it updates by sums of gradients; else by its own.
  bool adds_up() const { return run_.adds_up; }
  /// Pushes a step's compute segments.
  Task forward_backward();

  // What blocks the main thread.

  /// Waits for the step's forward pass, as reading the training metric does.
  Task update_metric() {
    python_call();
    return wait_to_read(kForwardPass, RankOps::label_of(Kind::kWaitOutput, 0));
  }
  Task wait_for_host_buffer(std::int32_t key) {
    return wait_to_read(key,
                        RankOps::label_of(Kind::kWait, static_cast<std::size_t>(key), payload_));
  }
  /// MPI_Allreduce of the host buffer.
  Task all_reduce(std::int32_t key);
  /// Waits until no pushed all-reduce is outstanding, then for all ranks.
  Task barrier();

  // For the search for deadlocks (sim/mxnet/deadlock.h).

  enum MainState : std::uint8_t { kRuns, kAwaitsSamples, kWaitToRead, kDrain, kInCall };
  std::int32_t rank() const { return rank_; }
  MainState main_state() const { return main_state_; }
  Communicators::Subject main_call() const { return main_call_; }
  std::int64_t step() const { return step_; }
  const OpEngine& engine() const { return engine_; }
  Domain& domain() { return domain_; }
  bool is_all_reduce(OperationId operation) const;
  bool is_wait(OperationId operation) const;
  Communicators::Subject subject_of(OperationId operation) const;
  std::string describe(OperationId operation) const {
    return run_.operations.describe(engine_.label(operation));
  }
  /// Spans of the calls that never returned.
  void draw_stuck();

 private:
  using Label = RankOps::Label;
  using Kind = RankOps::Kind;
  using Body = RankOps::Body;
  Kind kind_of(OperationId operation) const { return RankOps::kind_of(engine_.label(operation)); }
  std::size_t index_of(OperationId operation) const {
    return static_cast<std::size_t>(RankOps::index_of(engine_.label(operation)));
  }
  Body body_of(OperationId operation) const {
    return run_.operations.body(engine_.label(operation));
  }
  std::int32_t key_of(OperationId operation) const {
    return RankOps::index_of(engine_.label(operation));
  }

  Push pushing(Kind kind, std::int32_t key, Payload payload = Payload::kGradient) {
    owed_.pushes += run_.settings.engine_push;
    return {{*this}, RankOps::label_of(kind, static_cast<std::size_t>(key), payload)};
  }
  std::int64_t step_of(OperationId operation) const {
    return engine_.step(operation) * period_ +
           run_.operations.step_of(OpEngine::number_of(operation));
  }
  /// Awaited: go_on().
  struct Blocked {
    MpiRank& worker;
    MainState state;
    bool await_ready() const { return false; }
    void await_suspend(Suspended program) const { worker.wait(program, state); }
    void await_resume() const {}
  };
  /// WaitToRead: pushes an operation, which goes on with the main thread.
  Task wait_to_read(std::int32_t key, Label label);
  bool begin_step();
  /// Tells the recorder when the GPU waits for nothing else.
  void tell_missing_samples();
  void push(Label label);

  /// What the main thread is charged with, but has not passed yet, in this order.
  struct Owed {
    Duration wake_up{};
    Duration calls{};
    Duration pushes{};
    Duration sum() const { return wake_up + calls + pushes; }
    friend bool operator==(const Owed&, const Owed&) = default;
  };
  /// Lets the time that the program owes pass, if nothing else happens meanwhile.
  bool nothing_owed() {
    const Duration owed = owed_.sum();
    if (owed != Duration{} && !domain_.pass(owed)) return false;
    if (domain_.keeps_causes()) domain_.because(end_of(owed_));
    owed_ = {};
    return true;
  }
  /// When that has passed from now on.
  When end_of(const Owed& owed);
  /// Resumes the program when the time that it owes has passed.
  void pass_owed_time(Suspended program);
  /// Awaited: the main thread's call, to its end.
  Blocked calls(Communicators::Subject subject);
  void call(Communicators::Subject subject, Callback returns);
  /// The program is what the main thread's wait resumes.
  void wait(Suspended program, MainState state);
  /// "MPI_Barrier", "WaitToRead conv0_weight".
  std::string main_wait() const;
  void go_on();

  std::optional<When> started(OperationId operation) override;
  void ended(OperationId operation) override;
  void take_note(OperationId operation);
  void mpi_returned(OperationId operation);

  void draw(OperationId operation);

  /// Of what it does itself.
  Duration time_of(OperationId operation, const Body& body) const;
  /// Of that, when it begins now.
  When end_of(OperationId operation, const Body& body);
  /// Of a segment that began then and takes so long by itself.
  When computed(When since, OperationId operation, Duration time);
  /// A segment begins now, whose end is not known as collectives come and go.
  void compute(OperationId operation);
  void end_segment(OperationId operation);

  static constexpr std::int32_t kForwardPass = -1;  ///< in place of a key

  Run run_;
  std::int32_t rank_;
  std::int64_t period_;  ///< steps from one exchange to the next
  Domain domain_;
  OpEngine engine_;

  std::int64_t step_ = -1;
  double slowness_[2] = {1, 1};  ///< factor on a step's compute segments, by step modulo 2
  Payload payload_ = Payload::kGradient;
  Payload updates_by_ = Payload::kGradient;  ///< with what the step's updates take
  std::int64_t outstanding_ = 0;
  Owed owed_{};
  /// Why each amount passes that was ever owed, a few; none without causes.
  std::vector<std::pair<Owed, Reason>> owed_for_;
  Suspended main_thread_{};
  MainState main_state_ = kRuns;
  std::int32_t waited_key_ = kForwardPass;
  Communicators::Subject main_call_{};
  Time waits_since_{};
  std::optional<Time> misses_since_{};  ///< samples, and nothing else

  Held led_to_segment_{};  ///< kept only where collectives slow segments down

  RankTimeline drawn_;
  std::unordered_map<OperationId, Time> starts_;  ///< while drawing
};

}  // namespace steptime
