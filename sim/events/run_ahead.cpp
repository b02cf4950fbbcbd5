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
  own_.at(shared_.now(), Phase::kComplete, [returns = calls_[call].returns] { returns(); });
  find_earliest_return();
  run({});
}

void Domain::run(Moment reached) {
  if (!runs_ahead_) return;
  while (const auto next = own_.next()) {
    if (next->time >= earliest_return_ && *next > reached) {
      find_earliest_return();
      if (next->time >= earliest_return_) return wake_at(*next);
    }
    own_.step();
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
