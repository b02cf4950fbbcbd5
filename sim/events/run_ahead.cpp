#include "sim/events/run_ahead.h"

namespace steptime {

std::size_t Domain::take_place() {
  std::size_t place = 0;
  if (outstanding_++ == calls_.size())
    place = calls_.size();
  else
    while (calls_[place].earliest != kNever)
      ++place;
  if (place == calls_.size()) calls_.emplace_back();
  return place;
}

void Domain::returned(std::size_t call) {
  --outstanding_;
  calls_[call].earliest = kNever;
  const Callback returns = calls_[call].returns;
  find_earliest_return();
  const Moment moment{shared_.now(), Phase::kComplete};
  const bool is_next = own_.empty() || moment < own_.next();
  if (is_next && !decision_is_due_ && moment.time < earliest_return_) {
    own_.pass_to(moment.time);
    if (keeps_causes()) present_ = shared_.present();
    returns();
  } else {
    own_.add({moment, shared_.present().cause, returns});
  }
  run({});
}

void Domain::run(Moment reached) {
  if (!runs_ahead_) return;
  for (;;) {
    const bool decides = decision_is_due_ && own_.none_until(own_.now());
    if (!decides && own_.empty()) return;
    const Moment moment = decides ? Moment{own_.now(), Phase::kSchedule} : own_.next();
    if (moment.time >= earliest_return_ && moment > reached) {
      find_earliest_return();
      if (moment.time >= earliest_return_) return wake_at(moment);
    }
    if (decides) {
      decide();
      continue;
    }
    const EventsAhead::Event event = own_.take();
    present_ = When(own_.now(), event.led);
    event.run();
  }
}

void Domain::find_earliest_return() {
  earliest_return_ = kNever;
  if (outstanding_ == 0) return;
  for (Call& call : calls_) {
    if (call.earliest == kNever) continue;
    call.earliest = std::max(call.earliest, call.callee->returns_not_before(call.name));
    earliest_return_ = std::min(earliest_return_, call.earliest);
  }
}

void Domain::wake_at(Moment next) {
  if (wakes_ == next) return;
  shared_.cancel(wake_);
  wakes_ = next;
  wake_ = shared_.at(next.time, next.phase, [this] {
    const Moment reached = wakes_;
    wakes_ = {kNever};
    run(reached);
  });
}

}  // namespace steptime
