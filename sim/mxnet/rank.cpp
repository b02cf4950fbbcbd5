#include "sim/mxnet/rank.h"

#include "sim/core/error.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace steptime {

MxnetRank::MxnetRank(const Run& run, std::int32_t rank, Timeline* timeline)
    : run_(run),
      rank_(rank),
      domain_(run.clock, !run.one_clock && rank != 0),
      engine_(domain_.events(), *this),
      drawn_(timeline, rank) {
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
  first_key_ = dummy_ + 1;
  for (std::size_t key = 0; key < run.graph.keys.size(); ++key) {
    for (int i = 0; i < 3; ++i)
      engine_.add_variable();
    const auto bytes = static_cast<double>(run.graph.keys[key].bytes.count);
    copy_times_.push_back(
        run.settings.copy_latency +
        from_seconds(bytes * inverse(run.settings.copy_bandwidth).seconds_per_byte));
  }
  keys_.resize(run.graph.keys.size());
  std::iota(keys_.begin(), keys_.end(), 0);
  if (run.settings.backward_keys) std::reverse(keys_.begin(), keys_.end());
}

bool MxnetRank::begin_step() {
  ++step_;
  if (run_.variation.any()) slowness_ = run_.variation.factor(run_.seed, rank_, step_);
  return run_.recorder.wants_step(step_);
}

Process MxnetRank::forward_backward() {
  co_await python_call();
  for (std::size_t i = 0; i < run_.graph.segments.size(); ++i)
    co_await pushing(Kind::kCompute, static_cast<std::int32_t>(i));
}

void MxnetRank::pass_owed_time(std::coroutine_handle<> program) {
  domain_.events().after(std::exchange(owed_, {}), Phase::kNormal, [program] { program.resume(); });
}

void MxnetRank::push_segment(std::uint64_t tag) {
  const auto index = static_cast<std::size_t>(index_of(tag));
  const ComputeSegment& segment = run_.graph.segments[index];
  const bool is_last_forward = index + 1 == run_.graph.forward_segments;
  reads_.clear();
  writes_.assign({chain_});
  if (is_last_forward) writes_.push_back(output_);
  if (index + 1 == run_.graph.segments.size()) writes_.push_back(backward_end_);
  for (const std::int32_t key : segment.keys) {
    if (segment.is_backward)
      writes_.push_back(gradient(key));
    else
      reads_.push_back(weight(key));
  }
  const Duration own =
      slowness_ == 1 ? segment.duration : from_seconds(to_seconds(segment.duration) * slowness_);
  engine_.push({.pool = gpu_pool_, .tag = tag, .duration = jittered(own, tag)}, reads_, writes_);
}

void MxnetRank::push(std::uint64_t tag) {
  using Variables = std::initializer_list<DependencyEngine::Variable>;
  const std::int32_t key = index_of(tag);
  DependencyEngine::Operation operation{.priority = run_.settings.equal_priorities ? 0 : -key,
                                        .tag = tag};
  const auto add = [&](DependencyEngine::Pool pool, Variables reads, Variables writes) {
    operation.pool = pool;
    engine_.push(operation, {reads.begin(), reads.size()}, {writes.begin(), writes.size()});
  };
  switch (kind_of(tag)) {
    case Kind::kCopyToHost:
      operation.duration = jittered(copy_time(key), tag);
      if (run_.graph.after_backward)
        return add(copy_pool_, {gradient(key), backward_end_}, {buffer(key)});
      return add(copy_pool_, {gradient(key)}, {buffer(key)});
    case Kind::kCopyToDevice:
      operation.duration = jittered(copy_time(key), tag);
      return add(copy_pool_, {buffer(key)}, {gradient(key)});
    case Kind::kAllReduce:
      ++outstanding_;
      return add(collective_pool_, {gradient(key)}, {buffer(key)});
    case Kind::kChained:
      return add(collective_pool_, {buffer(key)}, {gradient(key), dummy_});
    case Kind::kUpdate:
      operation.duration = run_.settings.update;
      return add(gpu_pool_, {gradient(key)}, {weight(key)});
    case Kind::kCompute:
      return push_segment(tag);
    case Kind::kWait:
      break;
  }
  STEPTIME_CHECK(false, "an operation of this kind has a push of its own");
}

void MxnetRank::block(std::coroutine_handle<> program, void (MxnetRank::*begin)()) {
  main_thread_ = program;
  if (owed_ == Duration{}) return (this->*begin)();
  domain_.events().after(std::exchange(owed_, {}), Phase::kNormal,
                         [this, begin] { (this->*begin)(); });
}

void MxnetRank::wait(MainState state) {
  main_state_ = state;
  waits_since_ = domain_.now();
}

void MxnetRank::begin_wait_to_read() {
  const auto key = static_cast<std::size_t>(std::max(waited_key_, 0));
  const DependencyEngine::Variable variable =
      waited_key_ == kForwardPass ? output_ : buffer(waited_key_);
  engine_.push({.pool = cpu_pool_, .tag = tag_of(Kind::kWait, key), .duration = Duration{}},
               {&variable, 1}, {});
  wait(kWaitToRead);
}

void MxnetRank::begin_all_reduce() {
  call_mpi(communicator_of(main_call_.key));
}

void MxnetRank::begin_barrier() {
  if (outstanding_ > 0) return wait(kDrain);
  call_barrier();
}

void MxnetRank::call_barrier() {
  main_call_ = {MpiWorld::kBarrier, 0};
  call_mpi(barrier_communicator());
}

void MxnetRank::call_mpi(std::int32_t communicator) {
  wait(kInCall);
  call(communicator, main_call_,
       {[](void* self, std::uint64_t) { static_cast<MxnetRank*>(self)->resume_main(); }, this});
}

void MxnetRank::call(std::int32_t communicator, MpiWorld::Subject subject, Callback returns) {
  domain_.call(run_.world, returns, [&](Time at, Callback answer) {
    return run_.world.call(rank_, communicator, subject, at, answer);
  });
}

void MxnetRank::end_drain() {
  end_wait();
  if (run_.settings.wake_up == Duration{}) return call_barrier();
  domain_.events().after(run_.settings.wake_up, Phase::kNormal, [this] { call_barrier(); });
}

void MxnetRank::end_wait() {
  if (drawn_.is_on() && domain_.now() > waits_since_)
    drawn_.add("main thread", main_wait(), waits_since_, domain_.now());
  main_state_ = kRuns;
}

void MxnetRank::resume_main() {
  end_wait();
  main_thread_.resume();
}

std::string MxnetRank::main_wait() const {
  const auto of_key = [&](const char* what, std::int32_t key) {
    return what + run_.graph.keys[static_cast<std::size_t>(key)].name;
  };
  switch (main_state_) {
    case kInCall:
      return main_call_.key == MpiWorld::kBarrier ? "MPI_Barrier"
                                                  : of_key("MPI_Allreduce ", main_call_.key);
    case kDrain:
      return "barrier";
    case kWaitToRead:
      return waited_key_ == kForwardPass ? "WaitToRead output" : of_key("WaitToRead ", waited_key_);
    case kRuns:
      return "";
  }
  return "";
}

void MxnetRank::started(DependencyEngine::OperationId operation, std::uint64_t tag) {
  switch (kind_of(tag)) {
    case Kind::kCompute:
      if (rank_ == 0) {
        const DependencyEngine::Variable cause = engine_.last_granted(operation);
        const bool is_weight = cause != DependencyEngine::kPushed && cause >= first_key_;
        run_.recorder.segment_started(
            static_cast<std::size_t>(index_of(tag)), step_of(tag),
            is_weight ? std::optional(static_cast<std::int32_t>((cause - first_key_) / 3))
                      : std::nullopt);
      }
      break;
    case Kind::kAllReduce:
    case Kind::kChained: {
      const std::int32_t key = index_of(tag);
      call(communicator_of(key), subject_of(tag),
           {[](void* self, std::uint64_t which) {
              static_cast<MxnetRank*>(self)->mpi_returned(
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
    starts_[operation] = domain_.now();
  }
}

void MxnetRank::mpi_returned(DependencyEngine::OperationId operation) {
  const std::uint64_t tag = engine_.tag(operation);
  if (kind_of(tag) == Kind::kAllReduce) return engine_.finish(operation);
  domain_.events().after(jittered(copy_time(index_of(tag)), tag), Phase::kComplete,
                         [this, operation] { engine_.finish(operation); });
}

void MxnetRank::ended(DependencyEngine::OperationId operation, std::uint64_t tag) {
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
      if (outstanding_ == 0 && main_state_ == kDrain) end_drain();
      return;
    case Kind::kWait:
      owed_ = run_.settings.wake_up;
      return resume_main();
    default:
      return;
  }
}

Duration MxnetRank::jittered(Duration duration, std::uint64_t tag) const {
  if (run_.settings.jitter == 0) return duration;
  const double longer =
      1 + run_.settings.jitter * run_.random.uniform(static_cast<std::uint32_t>(rank_),
                                                     static_cast<std::uint32_t>(tag >> 32),
                                                     static_cast<std::uint32_t>(tag));
  return from_seconds(to_seconds(duration) * longer);
}

Duration MxnetRank::copy_time(std::int32_t key) const {
  return copy_times_[static_cast<std::size_t>(key)];
}

bool MxnetRank::is_all_reduce(std::uint64_t tag) const {
  return kind_of(tag) == Kind::kAllReduce || kind_of(tag) == Kind::kChained;
}

MpiWorld::Subject MxnetRank::subject_of(std::uint64_t tag) const {
  return {index_of(tag), step_of(tag)};
}

std::string MxnetRank::describe(std::uint64_t tag) const {
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

void MxnetRank::draw(DependencyEngine::OperationId operation, std::uint64_t tag) {
  const char* lane = "collectives";
  if (kind_of(tag) == Kind::kWait) return;
  if (kind_of(tag) == Kind::kCompute) lane = "compute";
  if (kind_of(tag) == Kind::kUpdate) lane = "updates";
  if (kind_of(tag) == Kind::kCopyToHost) lane = "copies to host";
  if (kind_of(tag) == Kind::kCopyToDevice) lane = "copies to device";
  const auto& keys = run_.graph.keys;
  Timeline::Details details;
  auto key = static_cast<std::size_t>(index_of(tag));
  if (kind_of(tag) == Kind::kCompute) {
    // Of several gradients that a segment ends with, its flow is the first one's.
    const ComputeSegment& segment = run_.graph.segments[key];
    key = segment.is_backward && !segment.keys.empty()
              ? static_cast<std::size_t>(segment.keys.front())
              : keys.size();
  } else if (kind_of(tag) != Kind::kUpdate) {
    details.bytes = keys[key].bytes.count;
  }
  if (key < keys.size()) {
    details.bucket = static_cast<std::int64_t>(keys.size() - 1 - key);  // they are in forward order
    details.tensors = keys[key].name;
    details.flow = flow_of(rank_, static_cast<std::uint64_t>(step_of(tag)) * keys.size() + key);
  }
  drawn_.add(lane, describe(tag), starts_[operation], domain_.now(), std::move(details));
}

void MxnetRank::draw_stuck() {
  if (!drawn_.is_on()) return;
  for (const DependencyEngine::OperationId operation : engine_.all_pending()) {
    if (engine_.state(operation) != DependencyEngine::State::kRunning) continue;
    drawn_.add("collectives", describe(engine_.tag(operation)) + " never returns",
               starts_[operation], domain_.now());
  }
  if (main_state_ == kInCall)
    drawn_.add("main thread", "MPI call never returns", waits_since_, domain_.now());
}

}  // namespace steptime
