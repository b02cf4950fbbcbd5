#include "sim/worker.h"

#include "sim/error.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace steptime {

Worker::Worker(const Run& run, std::int32_t rank, Timeline* timeline)
    : run_(run), rank_(rank), engine_(run.clock, *this), drawn_(timeline, rank) {
  // Threads as by default: MXNET_GPU_WORKER_NTHREADS, MXNET_GPU_COPY_NTHREADS,
  // MXNET_CPU_WORKER_NTHREADS.
  gpu_pool_ = engine_.add_pool(2, PoolOrder::kFifo);
  copy_pool_ = engine_.add_pool(2, PoolOrder::kPriority);
  cpu_pool_ = engine_.add_pool(1, PoolOrder::kFifo);
  collective_pool_ =
      engine_.add_pool(run.settings.collective_threads, run.settings.collective_order);
  chain_ = engine_.add_variable();
  output_ = engine_.add_variable();
  backward_end_ = engine_.add_variable();
  dummy_ = engine_.add_variable();
  for (std::size_t key = 0; key < run.graph.keys.size(); ++key) {
    gradients_.push_back(engine_.add_variable());
    buffers_.push_back(engine_.add_variable());
    weights_.push_back(engine_.add_variable());
    const auto bytes = static_cast<double>(run.graph.keys[key].bytes.count);
    copy_times_.push_back(
        run.settings.copy_latency +
        from_seconds(bytes * inverse(run.settings.copy_bandwidth).seconds_per_byte));
  }
  keys_.resize(run.graph.keys.size());
  std::iota(keys_.begin(), keys_.end(), 0);
  if (!run.settings.forward_keys) std::reverse(keys_.begin(), keys_.end());
}

bool Worker::next_batch() {
  return run_.recorder.wants_step(++step_);
}

MainThread Worker::forward_backward() {
  co_await python_call();
  for (std::size_t i = 0; i < run_.graph.segments.size(); ++i) {
    co_await Pause{run_.clock, run_.settings.engine_push};
    push_segment(i);
  }
}

void Worker::push_segment(std::size_t index) {
  const ComputeSegment& segment = run_.graph.segments[index];
  const bool is_last_forward = index + 1 == run_.graph.forward_segments;
  reads_.clear();
  writes_.assign({chain_});
  if (is_last_forward) writes_.push_back(output_);
  if (index + 1 == run_.graph.segments.size()) writes_.push_back(backward_end_);
  for (const std::int32_t key : segment.keys) {
    const auto k = static_cast<std::size_t>(key);
    if (segment.is_backward)
      writes_.push_back(gradients_[k]);
    else
      reads_.push_back(weights_[k]);
  }
  const std::uint64_t tag = tag_of(Kind::kCompute, index);
  engine_.push({.pool = gpu_pool_, .tag = tag, .duration = jittered(segment.duration, tag)}, reads_,
               writes_);
}

void Worker::push(std::uint64_t tag) {
  using Variables = std::initializer_list<DependencyEngine::Variable>;
  const std::int32_t key = index_of(tag);
  const auto k = static_cast<std::size_t>(key);
  DependencyEngine::Operation operation{.priority = run_.settings.key_priority ? -key : 0,
                                        .tag = tag};
  const auto add = [&](DependencyEngine::Pool pool, Variables reads, Variables writes) {
    operation.pool = pool;
    engine_.push(operation, {reads.begin(), reads.size()}, {writes.begin(), writes.size()});
  };
  switch (kind_of(tag)) {
    case Kind::kCopyToHost:
      operation.duration = jittered(copy_time(key), tag);
      if (run_.graph.after_backward)
        return add(copy_pool_, {gradients_[k], backward_end_}, {buffers_[k]});
      return add(copy_pool_, {gradients_[k]}, {buffers_[k]});
    case Kind::kCopyToDevice:
      operation.duration = jittered(copy_time(key), tag);
      return add(copy_pool_, {buffers_[k]}, {gradients_[k]});
    case Kind::kAllReduce:
      ++outstanding_;
      return add(collective_pool_, {gradients_[k]}, {buffers_[k]});
    case Kind::kChained:
      return add(collective_pool_, {buffers_[k]}, {gradients_[k], dummy_});
    case Kind::kUpdate:
      operation.duration = run_.settings.update;
      return add(gpu_pool_, {gradients_[k]}, {weights_[k]});
    case Kind::kCompute:
    case Kind::kWait:
      break;
  }
  STEPTIME_CHECK(false, "an operation of this kind has a push of its own");
}

MainThread Worker::update_metric() {
  co_await python_call();
  co_await wait_to_read(output_, -1);
}

MainThread Worker::wait_for_host_buffer(std::int32_t key) {
  co_await wait_to_read(buffers_[static_cast<std::size_t>(key)], key);
}

MainThread Worker::wait_to_read(DependencyEngine::Variable variable, std::int32_t key) {
  co_await Pause{run_.clock, run_.settings.engine_push};
  engine_.push({.pool = cpu_pool_,
                .tag = tag_of(Kind::kWait, static_cast<std::size_t>(std::max(key, 0))),
                .duration = Duration{}},
               {&variable, 1}, {});
  waited_key_ = key;
  struct Wait {
    Worker& worker;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> program) const { worker.wait(program, kWaitToRead); }
    void await_resume() const {}
  };
  co_await Wait{*this};
  co_await Pause{run_.clock, run_.settings.wake_up};
}

void Worker::wait(std::coroutine_handle<> program, MainState state) {
  main_thread_ = program;
  main_state_ = state;
  waits_since_ = run_.clock.now();
}

void Worker::resume_main() {
  if (drawn_.is_on() && run_.clock.now() > waits_since_) {
    const std::string what =
        main_state_ == kInCall
            ? (main_call_.key == MpiWorld::kBarrier
                   ? "MPI_Barrier"
                   : "MPI_Allreduce " +
                         run_.graph.keys[static_cast<std::size_t>(main_call_.key)].name)
        : main_state_ == kDrain ? "barrier"
        : waited_key_ < 0
            ? "WaitToRead output"
            : "WaitToRead " + run_.graph.keys[static_cast<std::size_t>(waited_key_)].name;
    drawn_.add("main thread", what, waits_since_, run_.clock.now());
  }
  main_state_ = kRuns;
  main_thread_.resume();
}

Worker::Blocking Worker::all_reduce(std::int32_t key) {
  return {*this, communicator_of(key), {key, step_}, cost_of(key)};
}

MainThread Worker::barrier() {
  struct Drain {
    Worker& worker;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> program) const { worker.wait(program, kDrain); }
    void await_resume() const {}
  };
  if (outstanding_ > 0) {
    co_await Drain{*this};
    co_await Pause{run_.clock, run_.settings.wake_up};
  }
  co_await Blocking{*this, barrier_communicator(), {MpiWorld::kBarrier, 0}, {run_.barrier, {}}};
}

void Worker::Blocking::await_suspend(std::coroutine_handle<> program) const {
  worker.wait(program, kInCall);
  worker.main_call_ = subject;
  worker.run_.world.call(
      worker.rank_, communicator, subject, cost,
      {[](void* self, std::uint64_t) { static_cast<Worker*>(self)->resume_main(); }, &worker});
}

void Worker::started(DependencyEngine::OperationId operation, std::uint64_t tag) {
  switch (kind_of(tag)) {
    case Kind::kCompute:
      if (rank_ == 0) {
        const DependencyEngine::Variable cause = engine_.last_granted(operation);
        const bool is_weight =
            cause != DependencyEngine::kPushed && !weights_.empty() && cause >= gradients_.front();
        run_.recorder.segment_started(
            static_cast<std::size_t>(index_of(tag)), step_of(tag),
            is_weight ? std::optional(static_cast<std::int32_t>((cause - gradients_.front()) / 3))
                      : std::nullopt);
      }
      break;
    case Kind::kAllReduce:
    case Kind::kChained: {
      const std::int32_t key = index_of(tag);
      run_.world.call(rank_, communicator_of(key), subject_of(tag), cost_of(key),
                      {[](void* self, std::uint64_t which) {
                         static_cast<Worker*>(self)->mpi_returned(
                             static_cast<DependencyEngine::OperationId>(which));
                       },
                       this, operation});
      break;
    }
    default:
      break;
  }
  if (drawn_.is_on()) {
    if (starts_.size() <= operation) starts_.resize(operation + 1);
    starts_[operation] = run_.clock.now();
  }
}

void Worker::mpi_returned(DependencyEngine::OperationId operation) {
  const std::uint64_t tag = engine_.tag(operation);
  if (kind_of(tag) == Kind::kAllReduce) return engine_.finish(operation);
  run_.clock.after(jittered(copy_time(index_of(tag)), tag), Phase::kComplete,
                   [this, operation] { engine_.finish(operation); });
}

void Worker::ended(DependencyEngine::OperationId operation, std::uint64_t tag) {
  if (drawn_.is_on()) draw(operation, tag);
  switch (kind_of(tag)) {
    case Kind::kCompute:
      if (rank_ != 0) return;
      run_.recorder.segment_ended();
      if (const auto& segment = run_.graph.segments[static_cast<std::size_t>(index_of(tag))];
          segment.is_backward) {
        for (const std::int32_t key : segment.keys)
          run_.recorder.gradient_ready(key);
      }
      return;
    case Kind::kAllReduce:
      --outstanding_;
      if (outstanding_ == 0 && main_state_ == kDrain) resume_main();
      return;
    case Kind::kWait:
      return resume_main();
    default:
      return;
  }
}

Duration Worker::jittered(Duration duration, std::uint64_t tag) const {
  if (run_.settings.jitter == 0) return duration;
  const double longer =
      1 + run_.settings.jitter * run_.random.uniform(static_cast<std::uint32_t>(rank_),
                                                     static_cast<std::uint32_t>(tag >> 32),
                                                     static_cast<std::uint32_t>(tag));
  return from_seconds(to_seconds(duration) * longer);
}

Duration Worker::copy_time(std::int32_t key) const {
  return copy_times_[static_cast<std::size_t>(key)];
}

bool Worker::is_all_reduce(std::uint64_t tag) const {
  return kind_of(tag) == Kind::kAllReduce || kind_of(tag) == Kind::kChained;
}

MpiWorld::Subject Worker::subject_of(std::uint64_t tag) const {
  return {index_of(tag), step_of(tag)};
}

std::string Worker::describe(std::uint64_t tag) const {
  const auto index = static_cast<std::size_t>(index_of(tag));
  const auto named = [&](const char* what) {
    return fmt::format("{}({})", what, run_.graph.keys[index].name);
  };
  switch (kind_of(tag)) {
    case Kind::kCompute:
      return run_.graph.segments[index].name;
    case Kind::kCopyToHost:
      return named("CopyToHost");
    case Kind::kCopyToDevice:
      return named("CopyToDevice");
    case Kind::kAllReduce:
    case Kind::kChained:
      return named("MPI_Allreduce");
    case Kind::kUpdate:
      return named("SGD.Update");
    case Kind::kWait:
      return "WaitToRead";
  }
  return "";
}

void Worker::draw(DependencyEngine::OperationId operation, std::uint64_t tag) {
  const char* lane = "collectives";
  if (kind_of(tag) == Kind::kWait) return;
  if (kind_of(tag) == Kind::kCompute) lane = "compute";
  if (kind_of(tag) == Kind::kUpdate) lane = "updates";
  if (kind_of(tag) == Kind::kCopyToHost) lane = "copies to host";
  if (kind_of(tag) == Kind::kCopyToDevice) lane = "copies to device";
  drawn_.add(lane, describe(tag), starts_[operation], run_.clock.now());
}

void Worker::draw_stuck() {
  if (!drawn_.is_on()) return;
  for (const DependencyEngine::OperationId operation : engine_.all_pending()) {
    if (engine_.state(operation) != DependencyEngine::State::kRunning) continue;
    drawn_.add("collectives", describe(engine_.tag(operation)) + " never returns",
               starts_[operation], run_.clock.now());
  }
  if (main_state_ == kInCall)
    drawn_.add("main thread", "MPI call never returns", waits_since_, run_.clock.now());
}

}  // namespace steptime
