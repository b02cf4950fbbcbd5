#include "sim/servers/sender.h"

#include "sim/step/cycles.h"

#include <algorithm>
#include <utility>

namespace steptime {

Sender::Sender(const TrainingPlan& plan, Engine& engine, Carrier& carrier, SentMessages& messages,
               std::int32_t client, std::function<void(Time, When)> computed)
    : plan_(plan),
      engine_(engine),
      carrier_(carrier),
      messages_(messages),
      client_(client),
      backward_(engine, "backward pass", plan.step.backward_wait),
      timer_(engine.reason("coordinator waits for its time", "coordinator")),
      computed_(std::move(computed)),
      overlap_(engine) {
  if (plan.schedule)
    policy_ = plan.transport->policy(*plan.schedule, plan.step.buckets, plan.cluster);
  else if (plan.beside)
    policy_ = std::make_unique<InOrder>();
}

Time Sender::ready(std::size_t bucket) const {
  const Duration alone = scaled(plan_.step.buckets[bucket].ready, factor_);
  return plan_.beside ? compute_.when(alone) : origin_ + alone;
}

/// What is ready at `when`, which lies ahead, and would be after `alone` without collectives beside
/// it.
When Sender::is_ready(Time when, Duration alone) {
  const Time by_itself = std::clamp(origin_ + alone, middle_.time, std::max(middle_.time, when));
  const When ready = backward_.until(engine_, middle_, by_itself);
  return engine_.until(ready, std::max(ready.time, when), overlap_.compute);
}

void Sender::begin_step(Time origin, double factor, When middle) {
  origin_ = origin;
  factor_ = factor;
  middle_ = middle;
  next_ = 0;
  if (plan_.beside) {
    const Duration forward = scaled(plan_.step.forward, factor);
    compute_.begin(origin, forward + scaled(plan_.step.backward, factor));
    computes_ = factor > 0;
    if (computes_) await_end();
  }
  if (policy_) return hear();
  const auto& buckets = plan_.step.buckets;
  if (!buckets.empty()) {
    const Time last = std::max(middle.time, ready(buckets.size() - 1));
    last_ready_ = backward_.until(engine_, middle, last);
  }
  while (next_ < plan_.step.buckets.size() && under_way_ < plan_.transport->streams)
    send_next();
}

/// Tells the policy of all buckets that are ready by now.
void Sender::hear() {
  while (next_ < plan_.step.buckets.size() && ready(next_) <= engine_.now())
    policy_->ready(static_cast<std::int32_t>(next_++), engine_.now());
  await_gradient();
  decide();
}

void Sender::await_gradient() {
  if (gradient_) engine_.cancel(*gradient_);
  gradient_.reset();
  if (next_ == plan_.step.buckets.size()) return;
  const Duration alone = scaled(plan_.step.buckets[next_].ready, factor_);
  const Time when = std::max(engine_.now(), ready(next_));
  gradient_ = engine_.at(is_ready(when, alone), Phase::kComplete, [this] {
    gradient_.reset();
    hear();
  });
}

void Sender::await_end() {
  if (end_) engine_.cancel(*end_);
  const Duration alone = compute_.work();
  const When end = is_ready(compute_.end(), alone);
  end_ = engine_.at(end, Phase::kComplete, [this] {
    end_.reset();
    computes_ = false;
    computed_(middle_.time, engine_.present());
  });
}

/// Of the backward pass, from now on.
void Sender::change_speed(double slowdown) {
  if (!computes_) return;
  compute_.change(engine_.now(), slowdown);
  await_end();
  await_gradient();
}

/// By how much an all-reduce that starts now is longer than by itself.
Duration Sender::slowed(Message& message) {
  if (!plan_.beside) return {};
  const Slowdown beside = plan_.beside(message.bytes);
  message.slowdown = beside.compute;
  change_speed(compute_.slowdown() * message.slowdown);
  if (!computes_) return {};
  return compute_.longer(engine_.now(), plan_.inside_time(message.bytes), beside.collective);
}

void Sender::arrived(std::span<const std::int32_t> buckets) {
  if (!policy_) return;
  policy_->arrived(buckets, engine_.now());
  decide();
}

/// Asks the policy once everything of this instant has happened.
void Sender::decide() {
  if (std::exchange(decides_, true)) return;
  engine_.at(engine_.now(), Phase::kSchedule, [this] {
    decides_ = false;
    ask();
  });
}

void Sender::ask() {
  for (auto buckets = policy_->next(engine_.now()); !buckets.empty();
       buckets = policy_->next(engine_.now()))
    post(buckets);
  const std::optional<Time> wake = policy_->wake();
  if (!wake || wake == wakes_) return;
  wakes_ = wake;
  engine_.at(engine_.until(engine_.present(), *wake, timer_), Phase::kComplete, [this] {
    wakes_.reset();
    decide();
  });
}

void Sender::post(std::span<const std::int32_t> buckets) {
  const std::uint32_t message = messages_.take();
  Message& m = messages_[message];
  m.list.assign(buckets.begin(), buckets.end());
  m.bytes = {};
  for (const std::int32_t bucket : m.list)
    m.bytes += plan_.step.buckets[static_cast<std::size_t>(bucket)].bytes;
  if (under_way_ == plan_.transport->streams) return waiting_.push_back(message);
  start(message, engine_.present());
}

void Sender::send_next() {
  const std::uint32_t message = messages_.take();
  const std::size_t bucket = next_++;
  messages_[message].list.assign({static_cast<std::int32_t>(bucket)});
  messages_[message].bytes = plan_.step.buckets[bucket].bytes;
  const Time when = std::max(middle_.time, ready(bucket));
  start(message, when > engine_.now() ? backward_.until(engine_, middle_, last_ready_, when)
                                      : engine_.present());
}

void Sender::start(std::uint32_t message, When when) {
  ++under_way_;
  Message& m = messages_[message];
  m.start = when;
  carrier_.all_reduce(client_, message, m.bytes, when, slowed(m));
}

const Sender::Message& Sender::ended(std::uint32_t message) {
  --under_way_;
  const double slowdown = messages_[message].slowdown;
  if (slowdown > 1) change_speed(under_way_ == 0 ? 1 : compute_.slowdown() / slowdown);
  if (next_waiting_ < waiting_.size()) {
    const std::uint32_t next = waiting_[next_waiting_++];
    if (2 * next_waiting_ >= waiting_.size()) {
      waiting_.erase(waiting_.begin(),
                     waiting_.begin() + static_cast<std::ptrdiff_t>(next_waiting_));
      next_waiting_ = 0;
    }
    start(next, engine_.present());
  } else if (!policy_ && next_ < plan_.step.buckets.size()) {
    send_next();
  }
  return messages_[message];
}

}  // namespace steptime
