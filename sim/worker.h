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
#include "sim/dependency_engine.h"
#include "sim/mpi_world.h"
#include "sim/program.h"
#include "sim/random.h"
#include "sim/rank_timeline.h"
#include "sim/step_recorder.h"
#include "sim/training_graph.h"

#include <coroutine>
#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

struct WorkerSettings {
  bool forward_keys = true;  ///< keys are pushed in forward order; else as gradients appear
  bool key_priority = true;  ///< -key number; else all equal
  std::int64_t bulk = 15;    ///< layers per compute segment, at most
  Duration python_call{};    ///< one call of the framework's Python API, on the main thread
  Duration engine_push{};    ///< pushing one operation
  Duration wake_up{};        ///< from the end of what the main thread waits for to its next action
  Duration copy_latency{};   ///< between GPU and host
  Bandwidth copy_bandwidth{1e12};
  Duration update{};  ///< of one key's weights, beyond what the trace counts
  std::int64_t collective_threads = 4;
  PoolOrder collective_order = PoolOrder::kPriority;
  double jitter = 0;  ///< computing and copying take up to this share longer
};

class Worker final : private DependencyEngine::Listener {
 public:
  /// What the ranks of a run share.
  struct Run {
    Engine& clock;
    const TrainingGraph& graph;
    const WorkerSettings& settings;
    MpiWorld& world;
    StepRecorder& recorder;  ///< of rank 0, and of the number of steps
    RandomStream random;
    std::int32_t communicators = 1;  ///< key k uses number k modulo this; barriers their own
    Duration barrier{};              ///< cost of an MPI_Barrier
  };

  Worker(const Run& run, std::int32_t rank, Timeline* timeline);
  ~Worker() override = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // For main-thread programs. Whatever takes time is awaited.

  /// Key numbers in the order in which the program is to go through them.
  const std::vector<std::int32_t>& keys() const { return keys_; }
  /// False when the run is over.
  bool next_batch();
  /// One call of the Python API.
  Pause python_call() const { return {run_.clock, run_.settings.python_call}; }
  /// Pushes a step's compute segments.
  MainThread forward_backward();
  /// Waits for the step's forward pass, as reading the training metric does.
  MainThread update_metric();
  MainThread wait_for_host_buffer(std::int32_t key);

  /// A pushed operation; the pause is the main thread's share.
  struct Pushed {
    Worker& worker;
    std::uint64_t tag;
    Pause pause;
    bool await_ready() const { return pause.await_ready(); }
    void await_suspend(std::coroutine_handle<> program) const { pause.await_suspend(program); }
    void await_resume() const { worker.push(tag); }
  };
  Pushed copy_to_host(std::int32_t key) { return pushed(Kind::kCopyToHost, key); }
  Pushed copy_to_device(std::int32_t key) { return pushed(Kind::kCopyToDevice, key); }
  /// An all-reduce of the host buffer on a thread of the engine: reads the gradient (so that the
  /// next backward pass waits), mutates the buffer.
  Pushed push_all_reduce(std::int32_t key) { return pushed(Kind::kAllReduce, key); }
  /// An all-reduce and the copy back in one operation, which mutates gradient and dummy.
  Pushed push_chained_all_reduce(std::int32_t key) { return pushed(Kind::kChained, key); }
  Pushed sgd_update(std::int32_t key) { return pushed(Kind::kUpdate, key); }

  /// Blocks the main thread in MPI.
  struct Blocking {
    Worker& worker;
    std::int32_t communicator;
    MpiWorld::Subject subject;
    MpiWorld::Cost cost;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> program) const;
    void await_resume() const {}
  };
  Blocking all_reduce(std::int32_t key);
  /// Waits until no pushed all-reduce is outstanding, then for all ranks.
  MainThread barrier();

  // For the search for deadlocks (sim/deadlock.h).

  enum MainState : std::uint8_t { kRuns, kWaitToRead, kDrain, kInCall };
  std::int32_t rank() const { return rank_; }
  MainState main_state() const { return main_state_; }
  std::int32_t waits_for_key() const { return waited_key_; }
  MpiWorld::Subject main_call() const { return main_call_; }
  std::int64_t step() const { return step_; }
  const DependencyEngine& engine() const { return engine_; }
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

  Pushed pushed(Kind kind, std::int32_t key) {
    return {*this,
            tag_of(kind, static_cast<std::size_t>(key)),
            {run_.clock, run_.settings.engine_push}};
  }
  void push(std::uint64_t tag);
  void push_segment(std::size_t segment);
  void push_wait(DependencyEngine::Variable variable);
  MainThread wait_to_read(DependencyEngine::Variable variable, std::int32_t key);
  void wait(std::coroutine_handle<> program, MainState state);
  void resume_main();

  void started(DependencyEngine::OperationId operation, std::uint64_t tag) override;
  void ended(DependencyEngine::OperationId operation, std::uint64_t tag) override;
  void mpi_returned(DependencyEngine::OperationId operation);

  void draw(DependencyEngine::OperationId operation, std::uint64_t tag);

  Duration jittered(Duration duration, std::uint64_t tag) const;
  Duration copy_time(std::int32_t key) const;
  MpiWorld::Cost cost_of(std::int32_t key) const {
    return run_.graph.keys[static_cast<std::size_t>(key)].cost;
  }

  Run run_;
  std::int32_t rank_;
  DependencyEngine engine_;
  DependencyEngine::Pool gpu_pool_;
  DependencyEngine::Pool copy_pool_;
  DependencyEngine::Pool cpu_pool_;
  DependencyEngine::Pool collective_pool_;
  DependencyEngine::Variable chain_;
  DependencyEngine::Variable output_;
  DependencyEngine::Variable backward_end_;
  DependencyEngine::Variable dummy_;
  std::vector<DependencyEngine::Variable> gradients_;
  std::vector<DependencyEngine::Variable> buffers_;
  std::vector<DependencyEngine::Variable> weights_;
  std::vector<std::int32_t> keys_;
  std::vector<Duration> copy_times_;               ///< by key
  std::vector<DependencyEngine::Variable> reads_;  ///< scratch of push_segment
  std::vector<DependencyEngine::Variable> writes_;

  std::int64_t step_ = -1;
  std::int64_t outstanding_ = 0;
  std::coroutine_handle<> main_thread_{};
  MainState main_state_ = kRuns;
  std::int32_t waited_key_ = -1;  ///< -1: the forward pass
  MpiWorld::Subject main_call_{};
  Time waits_since_{};

  RankTimeline drawn_;
  std::vector<Time> starts_;  ///< by operation, while drawing
};

}  // namespace steptime
