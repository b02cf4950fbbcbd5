#include "sim/servers/sender.h"

#include <algorithm>
#include <utility>

namespace steptime {

Sender::Sender(const TrainingPlan& plan, Engine& engine, Carrier& carrier, SentMessages& messages,
               std::int32_t client)
    : plan_(plan),
      engine_(engine),
      carrier_(carrier),
      messages_(messages),
      client_(client),
      backward_(engine.reason("backward pass", "GPU")),
      timer_(engine.reason("coordinator waits for its time", "coordinator")) {
  if (plan.schedule)
    policy_ = plan.transport->policy(*plan.schedule, plan.step.buckets, plan.cluster);
}

Time Sender::ready(std::size_t bucket) const {
  return origin_ + scaled(plan_.step.buckets[bucket].ready, factor_);
}

/// What is ready at `when`, which lies ahead.
When Sender::is_ready(Time when) {
  return engine_.until(middle_, std::max(middle_.time, when), backward_);
}

void Sender::begin_step(Time origin, double factor, When middle) {
  origin_ = origin;
  factor_ = factor;
  middle_ = middle;
  next_ = 0;
  if (policy_) return hear();
  while (next_ < plan_.step.buckets.size() && under_way_ < plan_.transport->streams)
    send_next();
}

/// Tells the policy of all buckets that are ready by now.
void Sender::hear() {
  for (; next_ < plan_.step.buckets.size(); ++next_) {
    const Time when = ready(next_);
    if (when > engine_.now()) {
      engine_.at(is_ready(when), Phase::kComplete, [this] { hear(); });
      break;
    }
    policy_->ready(static_cast<std::int32_t>(next_), engine_.now());
  }
  decide();
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
  const Time when = ready(bucket);
  start(message, when > engine_.now() ? is_ready(when) : engine_.present());
}

void Sender::start(std::uint32_t message, When when) {
  ++under_way_;
  Message& m = messages_[message];
  m.start = when;
  carrier_.all_reduce(client_, message, m.bytes, when);
}

const Sender::Message& Sender::ended(std::uint32_t message) {
  --under_way_;
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
