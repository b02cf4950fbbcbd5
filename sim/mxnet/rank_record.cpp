#include "sim/mxnet/rank_record.h"

#include "sim/core/error.h"
#include "sim/events/causes_between.h"

#include <algorithm>
#include <array>

namespace steptime {
namespace {

/// Steps that a run with jitter leaves out: the main thread is at most one step ahead, so the
/// pipeline is full well before.
constexpr std::int64_t kWarmUp = 4;
/// Without jitter: this many steps in a row of the same length are the steady state; without one
/// by then, the second half of kPatience steps stands for it.
constexpr std::int64_t kSameSteps = 3;
constexpr std::int64_t kPatience = 64;
/// Shared transfers are rounded to a picosecond now and then.
constexpr Duration kSame{1000};

}  // namespace

RankRecord::RankRecord(Engine& clock, const TrainingGraph& graph, std::optional<std::int64_t> steps,
                       InputPipeline* input, std::int64_t period, std::int64_t ends)
    : clock_(clock),
      graph_(graph),
      steps_(steps),
      input_(input),
      period_(period),
      input_reason_(clock.reason("input", "input pipeline")),
      reduced_(graph.keys.size()),
      told_(graph.keys.size()),
      key_start_(graph.keys.size()),
      key_times_(graph.keys.size()),
      ends_(static_cast<std::size_t>(ends)) {
  sums_.waits.resize(graph.keys.size() + 1);
}

bool RankRecord::wants_step(std::int64_t step) {
  if (!stops_before_) {
    if (steps_)
      stops_before_ = (kWarmUp + (*steps_ + period_ - 1) / period_) * period_ + 1;
    else if (steady_ >= kSameSteps || step >= kPatience * period_)
      stops_before_ = std::max(step, begun_ + 1);
  }
  const bool wants = !stops_before_ || step < *stops_before_;
  if (wants) begun_ = std::max(begun_, step);
  return wants;
}

void RankRecord::advance() {
  const Duration passed = clock_.now() - advanced_to_;
  advanced_to_ = clock_.now();
  if (in_progress_ > 0) sums_.under[gpu_] += passed;
  sums_.gpu[gpu_] += passed;
}

void RankRecord::step_started(std::int64_t step) {
  sums_.at = clock_.now();
  sums_.step = step;
  if (slowed_ != nullptr) sums_.lost = slowed_->lost();
  starts_[step % 2] = clock_.now();
  if (step == 0) {
    first_start_ = steady_from_ = clock_.now();
    from_ = to_ = sums_;
    return;
  }
  if (step % period_ != 0) return;
  clock_.release(led_);
  led_ = clock_.hold(clock_.present());
  const std::int64_t periods = step / period_;
  const Duration length = clock_.now() - to_.at;
  const bool is_same = periods > 1 && length - length_ <= kSame && length_ - length <= kSame;
  length_ = length;
  if (steps_) {
    if (periods <= kWarmUp) from_ = sums_;
    steady_from_step_ = from_.step;
    steady_from_ = from_.at;
  } else {
    steady_ = is_same ? steady_ + 1 : 1;
    if (steady_ == 1) {
      steady_from_step_ = to_.step;
      steady_from_ = to_.at;
    }
    // Of equal steps the last one is measured: the first of them had nothing to hide under its
    // forward pass yet.
    if (steady_ > 1 || periods <= kPatience / 2) from_ = to_;
    if (steady_ >= kSameSteps && input_ != nullptr && input_->is_overtaken(length / period_)) {
      input_->use_up(step, clock_.now());
      steady_ = 0;
    }
  }
  to_ = sums_;
}

void RankRecord::segment_started(std::size_t segment, std::int64_t step,
                                 std::optional<std::int32_t> waited_for) {
  advance();
  if (clock_.now() > segment_end_) {
    const std::size_t place =
        waited_for ? static_cast<std::size_t>(*waited_for) : graph_.keys.size();
    sums_.waits[place] += clock_.now() - segment_end_;
  }
  if (segment == 0) step_started(step);
  segment_ = segment;
  gpu_ = graph_.segments[segment].is_backward ? kBackward : kForward;
}

void RankRecord::segment_ended() {
  advance();
  segment_end_ = clock_.now();
  gpu_ = kIdle;
  const ComputeSegment& segment = graph_.segments[segment_];
  if (!segment.is_backward) return;
  for (const std::int32_t key : segment.keys)
    key_times_[static_cast<std::size_t>(key)].ready = clock_.now() - sums_.at;
}

void RankRecord::waits_for_samples() {
  if (gpu_ == kSamples) return;
  advance();
  gpu_ = kSamples;
  samples_led_ = clock_.hold(clock_.present());
}

void RankRecord::samples_came() {
  advance();
  if (gpu_ != kSamples) return;
  gpu_ = kIdle;
  clock_.because(clock_.until(clock_.release(samples_led_), clock_.now(), input_reason_));
}

void RankRecord::collective_started(Communicators::Subject subject) {
  advance();
  ++in_progress_;
  key_start_[static_cast<std::size_t>(subject.key)] = clock_.now();
}

void RankRecord::collective_ended(Communicators::Subject subject) {
  advance();
  --in_progress_;
  const auto key = static_cast<std::size_t>(subject.key);
  STEPTIME_CHECK(subject.step >= told_[key].step, "a key is reduced step after step");
  ++reduced_[key];
  // Of a client's sums of gradients and its parameters, those that it exchanges.
  if (subject.payload < told_[key].payload) return;
  told_[key] = subject;
  const Time own = starts_[subject.step % 2];  // it may end in the next step's forward pass
  key_times_[key].start = key_start_[key] - own;
  key_times_[key].end = clock_.now() - own;
}

bool RankRecord::is_complete() const {
  return std::all_of(reduced_.begin(), reduced_.end(), [&](std::int64_t times) {
    return times == reduced_.front() && times >= (sums_.step + 1) / period_;
  });
}

bool RankRecord::settles() const {
  return steps_ || steady_ >= kSameSteps || to_.step < (kPatience - 1) * period_;
}

Duration RankRecord::step_time() const {
  STEPTIME_CHECK(to_.step > from_.step, "a run has at least one whole step");
  return (to_.at - from_.at) / (to_.step - from_.step);
}

Attribution RankRecord::attribution(const Causes* causes) const {
  const std::int64_t steps = to_.step - from_.step;
  const auto under = [&](Gpu gpu) { return to_.under[gpu] - from_.under[gpu]; };
  const auto passed = [&](Gpu gpu) { return to_.gpu[gpu] - from_.gpu[gpu]; };
  const Duration exposed = under(kIdle) + under(kSamples);
  Attribution a{.hidden_under_backward = under(kBackward) / steps,
                .hidden_under_forward = under(kForward) / steps,
                .exposed = exposed / steps,
                .idle = (passed(kIdle) + passed(kSamples) - exposed) / steps,
                .input = passed(kSamples) / steps,
                .steps = sums_.step + 1,
                .settles = settles(),
                .transient_steps = settles() ? steady_from_step_ : from_.step};
  if (settles()) {
    a.transient =
        std::max(Duration{}, steady_from_ - first_start_ - steady_from_step_ * step_time());
  }
  if (causes != nullptr) {
    const std::array parts{PathPart{from_.at, When(to_.at, led_.when.cause)}};
    a.causes = causes_between(*causes, parts, static_cast<double>(steps));
  }
  if (a.input > Duration{}) a.waits.emplace_back("samples, of the input pipeline", a.input);
  for (std::size_t key = 0; key <= graph_.keys.size(); ++key) {
    Duration wait = (to_.waits[key] - from_.waits[key]) / steps;
    if (key == graph_.keys.size()) wait -= a.input;  // the main thread's
    if (wait == Duration{}) continue;
    a.waits.emplace_back(key < graph_.keys.size()
                             ? "exchange and update of " + graph_.keys[key].name
                             : "the main thread, which pushes the segment",
                         wait);
  }
  std::stable_sort(a.waits.begin(), a.waits.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  return a;
}

}  // namespace steptime
