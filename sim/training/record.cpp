#include "sim/training/record.h"

#include <algorithm>
#include <utility>

namespace steptime {

Record::Record(const TrainingPlan& plan, Engine& engine, std::size_t workers, bool layers_wait,
               const Learner* learner)
    : plan_(plan),
      engine_(engine),
      layers_wait_(layers_wait),
      learner_(learner),
      steps_(plan, engine),
      sent_(plan.step.buckets.size()),
      learnt_(workers) {
  learnt(0, 0);
}

void Record::waits_for_input(std::int64_t step, Duration time) {
  const auto place = static_cast<std::size_t>(step);
  waited_.resize(std::max(waited_.size(), place + 1));
  waited_[place].add(time);
}

void Record::computes(std::int32_t worker, std::int64_t step, Time start, Duration time) {
  const auto place = static_cast<std::size_t>(step);
  if (place >= computed_.size()) computed_.resize(place + 1);
  computed_[place] = std::max(computed_[place], time);
  if (worker != 0) return;
  sent_.begin(start);
  counts_ = steps_.counts(step);
}

void Record::reduced(std::span<const std::int32_t> buckets, Bytes bytes, Time ready, Time start) {
  ++reductions_;
  sent_.sent(buckets, ready, start);
  if (!counts_) return;
  ++all_reduces_;
  reduce_busy_s_ += to_seconds(plan_.inside_time(bytes));
}

void Record::came(std::int32_t worker, std::int32_t bucket, Time end) {
  if (worker == 0) sent_.arrived(static_cast<std::size_t>(bucket), end);
}

void Record::ended(std::int32_t worker, std::int64_t step, Time end, When led) {
  if (worker == 0 && steps_.counts(step)) sent_.over(plan_.update->exchanges(step));
  const bool is_known = steps_.ended(worker, step, end, led);
  if (is_known || plan_.reported != TrainingPlan::Reported::kSteady) sent_.stay();
}

void Record::learnt(std::int32_t worker, std::int64_t step) {
  learnt_[static_cast<std::size_t>(worker)] = step;
  if (worker != 0 || learner_ == nullptr) return;
  const Convergence& convergence = learner_->convergence();
  if (step % convergence.evaluate != 0 && step != plan_.steps) return;
  // When all have waited for each other, the others' ends of the step are events of this instant.
  const bool have_met = plan_.update->has_met(step);
  std::int64_t steps = 0;
  for (const std::int64_t each : learnt_)
    steps += have_met ? step : each;
  curve_.push_back(learner_->point(since_start(engine_.now()), steps));
}

void Record::tell(TrainingTimes& times) {
  times.step_s = steps_.step_s();
  times.rate_per_s = steps_.rate_per_s();
  times.unsettled_steps = steps_.unsettled();
  times.cold_step_s = steps_.cold_step_s();
  times.all_reduces = all_reduces_ / steps_.counted();
  times.reduce_busy_s = reduce_busy_s_ / steps_.counted();
  times.curve = std::move(curve_);
  times.sent = sent_.messages();
}

void Record::tell(TrainingTimes& times, const Servers& servers, std::int64_t messages) {
  SumOfTimes busy;
  busy.add(servers.most_busy());
  times.server_busy_s = busy.mean_s(steps_.per_step());
  times.messages = messages;
  times.messages_per_step = static_cast<double>(messages) / steps_.per_step();
  times.staleness = servers.staleness();
}

}  // namespace steptime
