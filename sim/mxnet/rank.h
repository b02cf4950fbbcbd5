// One rank of data-parallel training in MXNet with MPI: a main thread, a dependency engine, a GPU.
// Main-thread programs (schedulers/embedding_*.cpp) are written against its public part, which
// reads like the framework's API.
//
// Variables: per key the gradient on the GPU, the communication buffer on the host and the weight;
// one that chains the compute segments (one stream of kernels), the forward pass's output, and a
// dummy for programs that need one. Pools: GPU kernels (2 threads, FIFO), GPU copies (2, priority),
// CPU (1, FIFO; it runs WaitToRead), collectives (a parameter).
// Source: SEMANTICS of apache/mxnet 1.3.1 src/engine/threaded_engine_perdevice.cc; 000 section 4.
#pragma once
#include "sim/core/random.h"
#include "sim/events/process.h"
#include "sim/events/rank_timeline.h"
#include "sim/events/run_ahead.h"
#include "sim/mxnet/dependency_engine.h"
#include "sim/mxnet/mpi_world.h"
#include "sim/mxnet/settings.h"
#include "sim/mxnet/step_recorder.h"
#include "sim/mxnet/training_graph.h"
#include "sim/workload/variation.h"

#include <coroutine>
#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

class MxnetRank final : private DependencyEngine::Listener {
 public:
  /// What the ranks of a run share.
  struct Run {
    Engine& clock;
    const TrainingGraph& graph;
    const MxnetSettings& settings;
    MpiWorld& world;
    StepRecorder& recorder;  ///< of rank 0, and of the number of steps
    RandomStream random;
    const Variation& variation;
    std::int64_t seed = 1;           ///< of the variation
    std::int32_t communicators = 1;  ///< key k uses number k modulo this; barriers their own
    bool one_clock = true;           ///< else all but rank 0, which is recorded, run ahead
  };

  MxnetRank(const Run& run, std::int32_t rank, Timeline* timeline);
  ~MxnetRank() override = default;
  MxnetRank(const MxnetRank&) = delete;
  MxnetRank& operator=(const MxnetRank&) = delete;

  // For main-thread programs. Whatever takes time is awaited; the program's own share of an
  // operation passes before it is pushed.

  /// Key numbers in the order in which the program is to go through them.
  const std::vector<std::int32_t>& keys() const { return keys_; }

  /// Awaited: false when the run is over.
  struct NextBatch {
    MxnetRank& worker;
    bool await_ready() const { return worker.owed_ == Duration{}; }
    void await_suspend(std::coroutine_handle<> program) const { worker.pass_owed_time(program); }
    bool await_resume() const { return worker.begin_step(); }
  };
  NextBatch next_batch() { return {*this}; }

  /// One call of the Python API. Its time passes with that of what is awaited next.
  std::suspend_never python_call() {
    owed_ += run_.settings.python_call;
    return {};
  }

  /// Pushes an operation.
  struct Push {
    MxnetRank& worker;
    std::uint64_t tag;
    bool await_ready() const { return worker.owed_ == Duration{}; }
    void await_suspend(std::coroutine_handle<> program) const { worker.pass_owed_time(program); }
    void await_resume() const { worker.push(tag); }
  };
  Push copy_to_host(std::int32_t key) { return pushing(Kind::kCopyToHost, key); }
  /// An all-reduce of the host buffer on a thread of the engine: reads the gradient (so that the
  /// next backward pass waits), mutates the buffer.
  Push push_all_reduce(std::int32_t key) { return pushing(Kind::kAllReduce, key); }
  /// An all-reduce and the copy back in one operation, which mutates gradient and dummy.
  Push push_chained_all_reduce(std::int32_t key) { return pushing(Kind::kChained, key); }
  /// KVStore.Pull: a call of the Python API that copies the host buffer back.
  Push pull(std::int32_t key) {
    python_call();
    return pushing(Kind::kCopyToDevice, key);
  }
  /// SGD.Update: a call of the Python API.
  Push update(std::int32_t key) {
    python_call();
    return pushing(Kind::kUpdate, key);
  }
  /// Pushes a step's compute segments.
  Process forward_backward();

  /// What blocks the main thread: when the program's own time has passed, `begin` is called.
  struct Blocking {
    MxnetRank& worker;
    void (MxnetRank::*begin)();
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> program) const { worker.block(program, begin); }
    void await_resume() const {}
  };
  /// Waits for the step's forward pass, as reading the training metric does.
  Blocking update_metric() {
    python_call();
    return wait_for(kForwardPass);
  }
  Blocking wait_for_host_buffer(std::int32_t key) { return wait_for(key); }
  /// MPI_Allreduce of the host buffer.
  Blocking all_reduce(std::int32_t key) {
    main_call_ = {key, step_};
    return {*this, &MxnetRank::begin_all_reduce};
  }
  /// Waits until no pushed all-reduce is outstanding, then for all ranks.
  Blocking barrier() { return {*this, &MxnetRank::begin_barrier}; }

  // For the search for deadlocks (sim/mxnet/deadlock.h).

  enum MainState : std::uint8_t { kRuns, kWaitToRead, kDrain, kInCall };
  std::int32_t rank() const { return rank_; }
  MainState main_state() const { return main_state_; }
  std::int32_t waits_for_key() const { return waited_key_; }
  MpiWorld::Subject main_call() const { return main_call_; }
  std::int64_t step() const { return step_; }
  const DependencyEngine& engine() const { return engine_; }
  Domain& domain() { return domain_; }
  std::int32_t communicator_of(std::int32_t key) const { return key % run_.communicators; }
  std::int32_t barrier_communicator() const { return run_.communicators; }
  /// Of the operations with this tag.
  bool is_all_reduce(std::uint64_t tag) const;
  bool is_wait(std::uint64_t tag) const { return kind_of(tag) == Kind::kWait; }
  MpiWorld::Subject subject_of(std::uint64_t tag) const;
  std::string describe(std::uint64_t tag) const;
  /// Spans of the calls that never returned.
  void draw_stuck();

 private:
  enum class Kind : std::uint8_t {
    kCompute,
    kCopyToHost,
    kCopyToDevice,
    kAllReduce,
    kChained,
    kUpdate,
    kWait
  };
  // A tag: kind in the low 8 bits, key or segment in 24, step above.
  static Kind kind_of(std::uint64_t tag) { return static_cast<Kind>(tag & 0xff); }
  static std::int32_t index_of(std::uint64_t tag) {
    return static_cast<std::int32_t>(tag >> 8 & 0xffffff);
  }
  static std::int64_t step_of(std::uint64_t tag) { return static_cast<std::int64_t>(tag >> 32); }
  std::uint64_t tag_of(Kind kind, std::size_t index) const {
    return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(index) << 8 |
           static_cast<std::uint64_t>(step_) << 32;
  }

  Push pushing(Kind kind, std::int32_t key) {
    owed_ += run_.settings.engine_push;
    return {*this, tag_of(kind, static_cast<std::size_t>(key))};
  }
  Blocking wait_for(std::int32_t key) {
    owed_ += run_.settings.engine_push;
    waited_key_ = key;
    return {*this, &MxnetRank::begin_wait_to_read};
  }
  bool begin_step();
  void push(std::uint64_t tag);
  void push_segment(std::uint64_t tag);

  /// Resumes the program when the time that it owes has passed.
  void pass_owed_time(std::coroutine_handle<> program);
  void block(std::coroutine_handle<> program, void (MxnetRank::*begin)());
  void begin_wait_to_read();
  void begin_all_reduce();
  void begin_barrier();
  void call_barrier();
  void call_mpi(std::int32_t communicator);
  void call(std::int32_t communicator, MpiWorld::Subject subject, Callback returns);
  /// Sets what the main thread waits for from now on.
  void wait(MainState state);
  /// "MPI_Barrier", "WaitToRead conv0_weight".
  std::string main_wait() const;
  void end_drain();
  void end_wait();
  void resume_main();

  void started(DependencyEngine::OperationId operation, std::uint64_t tag) override;
  void ended(DependencyEngine::OperationId operation, std::uint64_t tag) override;
  void mpi_returned(DependencyEngine::OperationId operation);

  void draw(DependencyEngine::OperationId operation, std::uint64_t tag);

  Duration jittered(Duration duration, std::uint64_t tag) const;
  Duration copy_time(std::int32_t key) const;

  DependencyEngine::Variable gradient(std::int32_t key) const {
    return first_key_ + 3 * static_cast<DependencyEngine::Variable>(key);
  }
  DependencyEngine::Variable buffer(std::int32_t key) const { return gradient(key) + 1; }
  DependencyEngine::Variable weight(std::int32_t key) const { return gradient(key) + 2; }

  static constexpr std::int32_t kForwardPass = -1;  ///< in place of a key

  Run run_;
  std::int32_t rank_;
  Domain domain_;
  DependencyEngine engine_;
  DependencyEngine::Pool gpu_pool_;
  DependencyEngine::Pool copy_pool_;
  DependencyEngine::Pool cpu_pool_;
  DependencyEngine::Pool collective_pool_;
  DependencyEngine::Variable chain_;
  DependencyEngine::Variable output_;
  DependencyEngine::Variable backward_end_;
  DependencyEngine::Variable dummy_;
  DependencyEngine::Variable first_key_;  ///< variables of key 0; those of the others follow
  std::vector<std::int32_t> keys_;
  std::vector<Duration> copy_times_;               ///< by key
  std::vector<DependencyEngine::Variable> reads_;  ///< scratch of push_segment
  std::vector<DependencyEngine::Variable> writes_;

  std::int64_t step_ = -1;
  double slowness_ = 1;  ///< of this step's compute segments
  std::int64_t outstanding_ = 0;
  Duration owed_{};  ///< of the main thread: charged, but not passed yet
  std::coroutine_handle<> main_thread_{};
  MainState main_state_ = kRuns;
  std::int32_t waited_key_ = kForwardPass;
  MpiWorld::Subject main_call_{};
  Time waits_since_{};

  RankTimeline drawn_;
  std::vector<Time> starts_;  ///< by operation, while drawing
};

}  // namespace steptime
