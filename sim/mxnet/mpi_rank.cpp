#include "sim/mxnet/mpi_rank.h"

#include "sim/core/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {

MpiRank::MpiRank(const Run& run, std::int32_t rank, Timeline* timeline)
    : run_(run),
      rank_(rank),
      period_(run.update.period()),
      domain_(run.clock, !run.one_clock && rank != 0),
      engine_(domain_, *this, run.operations.ops(), rank == 0),
      drawn_(timeline, rank) {}

bool MpiRank::begin_step() {
  if (++step_ % period_ == 0) engine_.begin_step();
  updates_by_ = Payload::kGradient;
  if (run_.variation.any()) slowness_[step_ % 2] = run_.variation.factor(run_.seed, rank_, step_);
  return run_.steps.wants_step(step_);
}

Task MpiRank::samples() {
  const Time ready = run_.input.ready(step_);
  if (ready <= domain_.now()) co_return;
  domain_.at(domain_.until(ready - domain_.now(), run_.recorder.input()), Phase::kNormal, [this] {
    if (rank_ == 0) run_.recorder.samples_came();
    if (misses_since_) run_.steps.missed_samples(rank_, step_, domain_.now() - *misses_since_);
    misses_since_.reset();
    owed_ = {.wake_up = run_.settings.wake_up};
    go_on();
  });
  co_await Blocked{*this, kAwaitsSamples};
}

void MpiRank::tell_missing_samples() {
  if (main_state_ != kAwaitsSamples || !engine_.next_is_free()) return;
  if (!misses_since_) misses_since_ = domain_.now();
  if (rank_ == 0) run_.recorder.waits_for_samples();
}

Task MpiRank::forward_backward() {
  co_await python_call();
  for (std::size_t i = 0; i < run_.graph.segments.size(); ++i)
    co_await pushing(Kind::kCompute, static_cast<std::int32_t>(i));
}

When MpiRank::end_of(const Owed& owed) {
  const Duration sum = owed.sum();
  if (!domain_.keeps_causes()) return When(time_after(domain_.now(), sum));
  auto known = std::find_if(owed_for_.begin(), owed_for_.end(),
                            [&owed](const auto& each) { return each.first == owed; });
  if (known == owed_for_.end()) {
    const Stretches calls{{run_.reasons.wake_ups, owed.wake_up},
                          {run_.reasons.calls, owed.calls},
                          run_.reasons.pushes,
                          sum};
    known = owed_for_.insert(known, {owed, run_.clock.reason(calls)});
  }
  return domain_.lengthen(sum, known->second);
}

void MpiRank::pass_owed_time(Suspended program) {
  domain_.at(end_of(std::exchange(owed_, {})), Phase::kNormal,
             [program] { World::resume(program); });
}

void MpiRank::push(Label label) {
  if (engine_.pushed() == run_.operations.ops().operations())
    run_.operations.add(label, step_ % period_);
  if (RankOps::kind_of(label) == Kind::kAllReduce) ++outstanding_;
  engine_.push(label);
}

Task MpiRank::wait_to_read(std::int32_t key, Label label) {
  owed_.pushes += run_.settings.engine_push;
  waited_key_ = key;
  co_await Push{{*this}, label};
  co_await Blocked{*this, kWaitToRead};
}

Task MpiRank::all_reduce(std::int32_t key) {
  co_await Spent{*this};
  co_await calls({key, step_, payload_});
}

Task MpiRank::barrier() {
  co_await Spent{*this};
  if (outstanding_ > 0) {
    co_await Blocked{*this, kDrain};
    owed_ = {.wake_up = run_.settings.wake_up};
    co_await Spent{*this};
  }
  co_await calls({});
}

void MpiRank::wait(Suspended program, MainState state) {
  main_thread_ = program;
  main_state_ = state;
  waits_since_ = domain_.now();
  tell_missing_samples();
}

MpiRank::Blocked MpiRank::calls(Communicators::Subject subject) {
  main_call_ = subject;
  call(subject, {[](void* self, std::uint64_t) { static_cast<MpiRank*>(self)->go_on(); }, this});
  return {*this, kInCall};
}

void MpiRank::call(Communicators::Subject subject, Callback returns) {
  domain_.call(run_.communicators.callee(rank_, subject.key), returns,
               [&](When when, Callback answer) {
                 return run_.communicators.call(rank_, subject, when, answer);
               });
}

void MpiRank::go_on() {
  if (drawn_.is_on() && domain_.now() > waits_since_)
    drawn_.add("main thread", main_wait(), waits_since_, domain_.now());
  main_state_ = kRuns;
  World::resume(main_thread_);
}

std::string MpiRank::main_wait() const {
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

std::optional<When> MpiRank::started(OperationId operation) {
  if (drawn_.is_on()) starts_[operation] = domain_.now();
  const Body body = body_of(operation);
  if (body.computes && rank_ == 0) {
    run_.recorder.segment_started(index_of(operation), step_of(operation),
                                  run_.operations.key_of(engine_.last_granted(operation)));
  }
  if (body.computes && index_of(operation) == run_.graph.forward_segments)
    run_.steps.forward_pass_ended(rank_, step_of(operation));
  if (body.computes && run_.gpus != nullptr) {
    compute(operation);
    return std::nullopt;
  }
  if (body.how == Body::kTakesTime) return end_of(operation, body);
  if (body.how == Body::kWakesMainThread) return domain_.present();
  call(subject_of(operation),
       {[](void* self, std::uint64_t which) {
          static_cast<MpiRank*>(self)->mpi_returned(static_cast<OperationId>(which));
        },
        this, operation});
  return std::nullopt;
}

void MpiRank::mpi_returned(OperationId operation) {
  const Body body = body_of(operation);
  if (body.how == Body::kCalls) return engine_.finish(operation);
  domain_.at(end_of(operation, body), Phase::kComplete,
             [this, operation] { engine_.finish(operation); });
}

void MpiRank::ended(OperationId operation) {
  take_note(operation);
  tell_missing_samples();
}

void MpiRank::take_note(OperationId operation) {
  if (drawn_.is_on()) draw(operation);
  if (!domain_.runs_ahead()) run_.steps.operation_ended(rank_, step_of(operation));
  switch (kind_of(operation)) {
    case Kind::kCompute:
      if (rank_ == 0) run_.recorder.segment_ended();
      return;
    case Kind::kAllReduce:
      if (--outstanding_ == 0 && main_state_ == kDrain) go_on();
      return;
    case Kind::kUpdate:
      run_.steps.updated(rank_, key_of(operation), step_of(operation));
      return;
    case Kind::kWait:
    case Kind::kWaitOutput:
      owed_ = {.wake_up = run_.settings.wake_up};
      return go_on();
    default:
      return;
  }
}

Duration MpiRank::time_of(OperationId operation, const Body& body) const {
  const std::int64_t step = step_of(operation);
  const RankOps::Pace pace{slowness_[step % 2], run_.settings.jitter, run_.random, rank_, step};
  return pace.time_of(engine_.label(operation), body);
}

When MpiRank::end_of(OperationId operation, const Body& body) {
  const Duration time = time_of(operation, body);
  if (!domain_.keeps_causes()) return When(time_after(domain_.now(), time));
  if (!body.computes)
    return domain_.until(
        time, kind_of(operation) == Kind::kUpdate ? run_.reasons.updates : run_.reasons.copies);
  return computed(domain_.present(), operation, time);
}

When MpiRank::computed(When since, OperationId operation, Duration time) {
  const bool is_backward = run_.graph.segments[index_of(operation)].is_backward;
  const Duration usual = std::min(time, body_of(operation).time);
  const When done =
      domain_.until(since, usual, is_backward ? run_.reasons.backward : run_.reasons.forward);
  return domain_.until(done, time - usual, run_.reasons.slower);
}

void MpiRank::compute(OperationId operation) {
  led_to_segment_ = run_.clock.hold(domain_.present());
  run_.gpus->of(rank_).compute(
      time_of(operation, body_of(operation)), Phase::kComplete,
      {[](void* self, std::uint64_t which) {
         static_cast<MpiRank*>(self)->end_segment(static_cast<OperationId>(which));
       },
       this, operation});
}

void MpiRank::end_segment(OperationId operation) {
  const When since = run_.clock.release(std::exchange(led_to_segment_, {}));
  if (domain_.keeps_causes()) {
    const Duration alone =
        std::min(time_of(operation, body_of(operation)), domain_.now() - since.time);
    const bool is_backward = run_.graph.segments[index_of(operation)].is_backward;
    domain_.because(
        run_.clock.until(computed(since, operation, alone), domain_.now(),
                         is_backward ? run_.reasons.slowed_backward : run_.reasons.slowed_forward));
  }
  engine_.finish(operation);
}

bool MpiRank::is_all_reduce(OperationId operation) const {
  return kind_of(operation) == Kind::kAllReduce || kind_of(operation) == Kind::kChained;
}

bool MpiRank::is_wait(OperationId operation) const {
  return kind_of(operation) == Kind::kWait || kind_of(operation) == Kind::kWaitOutput;
}

Communicators::Subject MpiRank::subject_of(OperationId operation) const {
  return {key_of(operation), step_of(operation), RankOps::payload_of(engine_.label(operation))};
}

void MpiRank::draw(OperationId operation) {
  const Body body = body_of(operation);
  if (*body.lane == '\0') return;
  const auto key = body.computes ? run_.graph.segments[index_of(operation)].first_gradient()
                                 : std::optional(key_of(operation));
  Timeline::Details details = run_.graph.details(rank_, step_of(operation), key);
  if (!body.computes && kind_of(operation) != Kind::kUpdate)
    details.bytes = run_.graph.keys[index_of(operation)].bytes.count;
  drawn_.add(body.lane, describe(operation), starts_[operation], domain_.now(), std::move(details));
}

void MpiRank::draw_stuck() {
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
