#include "sim/mxnet/rank.h"

#include "sim/core/error.h"

#include <utility>

#include <fmt/format.h>

namespace steptime {

MxnetRank::MxnetRank(const Run& run, std::int32_t rank, Timeline* timeline)
    : run_(run),
      rank_(rank),
      domain_(run.clock, !run.one_clock && rank != 0),
      engine_(domain_, *this, run.operations.ops(), rank == 0),
      drawn_(timeline, rank) {}

bool MxnetRank::begin_step() {
  ++step_;
  engine_.begin_step();
  if (run_.variation.any()) slowness_[step_ % 2] = run_.variation.factor(run_.seed, rank_, step_);
  return run_.recorder.wants_step(step_);
}

void MxnetRank::await_samples(Suspended program) {
  main_thread_ = program;
  wait(kAwaitsSamples);
  tell_missing_samples();
  domain_.at(samples_ready(), Phase::kNormal, [this] { samples_came(); });
}

void MxnetRank::samples_came() {
  if (rank_ == 0) run_.recorder.samples_came();
  owed_ = run_.settings.wake_up;
  resume_main();
}

void MxnetRank::tell_missing_samples() {
  if (rank_ == 0 && main_state_ == kAwaitsSamples && engine_.next_is_free())
    run_.recorder.waits_for_samples();
}

Task MxnetRank::forward_backward() {
  co_await python_call();
  for (std::size_t i = 0; i < run_.graph.segments.size(); ++i)
    co_await pushing(Kind::kCompute, static_cast<std::int32_t>(i));
}

void MxnetRank::pass_owed_time(Suspended program) {
  domain_.after(std::exchange(owed_, {}), Phase::kNormal, [program] { World::resume(program); });
}

void MxnetRank::push(Label label) {
  if (engine_.pushed() == run_.operations.ops().operations()) run_.operations.add(label);
  if (StepOperations::kind_of(label) == Kind::kAllReduce) ++outstanding_;
  engine_.push(label);
}

void MxnetRank::block(Suspended program, void (MxnetRank::*begin)()) {
  main_thread_ = program;
  if (nothing_owed()) return (this->*begin)();
  domain_.after(std::exchange(owed_, {}), Phase::kNormal, [this, begin] { (this->*begin)(); });
}

void MxnetRank::wait(MainState state) {
  main_state_ = state;
  waits_since_ = domain_.now();
}

void MxnetRank::begin_wait_to_read() {
  push(waited_key_ == kForwardPass
           ? StepOperations::label_of(Kind::kWaitOutput, 0)
           : StepOperations::label_of(Kind::kWait, static_cast<std::size_t>(waited_key_)));
  wait(kWaitToRead);
}

void MxnetRank::begin_all_reduce() {
  call_mpi();
}

void MxnetRank::begin_barrier() {
  if (outstanding_ > 0) return wait(kDrain);
  call_barrier();
}

void MxnetRank::call_barrier() {
  main_call_ = {Communicators::kBarrier, 0};
  call_mpi();
}

void MxnetRank::call_mpi() {
  wait(kInCall);
  call(main_call_,
       {[](void* self, std::uint64_t) { static_cast<MxnetRank*>(self)->resume_main(); }, this});
}

void MxnetRank::call(Communicators::Subject subject, Callback returns) {
  Group& group = run_.communicators.of(subject.key);
  domain_.call(group, returns, [&](Time at, Callback answer) {
    return group.launch(static_cast<std::size_t>(rank_), run_.communicators.call_for(subject), at,
                        answer);
  });
}

void MxnetRank::end_drain() {
  end_wait();
  if (run_.settings.wake_up == Duration{}) return call_barrier();
  domain_.after(run_.settings.wake_up, Phase::kNormal, [this] { call_barrier(); });
}

void MxnetRank::end_wait() {
  if (drawn_.is_on() && domain_.now() > waits_since_)
    drawn_.add("main thread", main_wait(), waits_since_, domain_.now());
  main_state_ = kRuns;
}

void MxnetRank::resume_main() {
  end_wait();
  World::resume(main_thread_);
}

std::string MxnetRank::main_wait() const {
  const auto of_key = [&](const char* what, std::int32_t key) {
    return what + run_.graph.keys[static_cast<std::size_t>(key)].name;
  };
  switch (main_state_) {
    case kInCall:
      return main_call_.key == Communicators::kBarrier ? "MPI_Barrier"
                                                       : of_key("MPI_Allreduce ", main_call_.key);
    case kDrain:
      return "barrier";
    case kWaitToRead:
      return waited_key_ == kForwardPass ? "WaitToRead output" : of_key("WaitToRead ", waited_key_);
    case kAwaitsSamples:
      return "next batch";
    case kRuns:
      return "";
  }
  return "";
}

std::optional<Duration> MxnetRank::started(OperationId operation) {
  if (drawn_.is_on()) starts_[operation] = domain_.now();
  switch (kind_of(operation)) {
    case Kind::kCompute:
      if (rank_ == 0) segment_started(operation);
      return segment_time(operation);
    case Kind::kCopyToHost:
    case Kind::kCopyToDevice:
      return jittered(run_.operations.copy_time(key_of(operation)), operation);
    case Kind::kUpdate:
      return run_.settings.update;
    case Kind::kWait:
    case Kind::kWaitOutput:
      return Duration{};
    case Kind::kAllReduce:
    case Kind::kChained:
      call(subject_of(operation),
           {[](void* self, std::uint64_t which) {
              static_cast<MxnetRank*>(self)->mpi_returned(static_cast<OperationId>(which));
            },
            this, operation});
      return std::nullopt;
  }
  return std::nullopt;
}

void MxnetRank::segment_started(OperationId operation) {
  run_.recorder.segment_started(index_of(operation), engine_.step(operation),
                                run_.operations.key_of(engine_.last_granted(operation)));
}

void MxnetRank::mpi_returned(OperationId operation) {
  if (kind_of(operation) == Kind::kAllReduce) return engine_.finish(operation);
  domain_.after(jittered(run_.operations.copy_time(key_of(operation)), operation), Phase::kComplete,
                [this, operation] { engine_.finish(operation); });
}

void MxnetRank::ended(OperationId operation) {
  take_note(operation);
  tell_missing_samples();
}

void MxnetRank::take_note(OperationId operation) {
  if (drawn_.is_on()) draw(operation);
  if (rank_ == 0) run_.recorder.operation_ended(engine_.step(operation));
  switch (kind_of(operation)) {
    case Kind::kCompute:
      if (rank_ != 0) return;
      run_.recorder.segment_ended();
      if (const ComputeSegment& segment = run_.graph.segments[index_of(operation)];
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
    case Kind::kWaitOutput:
      owed_ = run_.settings.wake_up;
      return resume_main();
    default:
      return;
  }
}

Duration MxnetRank::segment_time(OperationId operation) const {
  return jittered(scaled(run_.graph.segments[index_of(operation)].duration,
                         slowness_[engine_.step(operation) % 2]),
                  operation);
}

Duration MxnetRank::jittered(Duration duration, OperationId operation) const {
  if (run_.settings.jitter == 0) return duration;
  const double longer =
      1 + run_.settings.jitter *
              run_.random.uniform(static_cast<std::uint32_t>(rank_),
                                  static_cast<std::uint32_t>(engine_.step(operation)),
                                  engine_.label(operation));
  return from_seconds(to_seconds(duration) * longer);
}

bool MxnetRank::is_all_reduce(OperationId operation) const {
  return kind_of(operation) == Kind::kAllReduce || kind_of(operation) == Kind::kChained;
}

bool MxnetRank::is_wait(OperationId operation) const {
  return kind_of(operation) == Kind::kWait || kind_of(operation) == Kind::kWaitOutput;
}

Communicators::Subject MxnetRank::subject_of(OperationId operation) const {
  return {key_of(operation), engine_.step(operation)};
}

void MxnetRank::draw(OperationId operation) {
  const Kind kind = kind_of(operation);
  if (is_wait(operation)) return;
  const char* lane = "collectives";
  if (kind == Kind::kCompute) lane = "compute";
  if (kind == Kind::kUpdate) lane = "updates";
  if (kind == Kind::kCopyToHost) lane = "copies to host";
  if (kind == Kind::kCopyToDevice) lane = "copies to device";
  const auto& keys = run_.graph.keys;
  Timeline::Details details;
  std::size_t key = index_of(operation);
  if (kind == Kind::kCompute) {
    // Of several gradients that a segment ends with, its flow is the first one's.
    const ComputeSegment& segment = run_.graph.segments[key];
    key = segment.is_backward && !segment.keys.empty()
              ? static_cast<std::size_t>(segment.keys.front())
              : keys.size();
  } else if (kind != Kind::kUpdate) {
    details.bytes = keys[key].bytes.count;
  }
  if (key < keys.size()) {
    details.bucket = static_cast<std::int64_t>(keys.size() - 1 - key);  // they are in forward order
    details.tensors = keys[key].name;
    details.flow =
        flow_of(rank_, static_cast<std::uint64_t>(engine_.step(operation)) * keys.size() + key);
  }
  drawn_.add(lane, describe(operation), starts_[operation], domain_.now(), std::move(details));
}

void MxnetRank::draw_stuck() {
  if (!drawn_.is_on()) return;
  for (const OperationId operation : engine_.all_pending()) {
    if (engine_.state(operation) != OpEngine::State::kRunning) continue;
    drawn_.add("collectives", describe(operation) + " never returns", starts_[operation],
               domain_.now());
  }
  if (main_state_ == kInCall)
    drawn_.add("main thread", "MPI call never returns", waits_since_, domain_.now());
}

}  // namespace steptime
