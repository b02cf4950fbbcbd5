#include "sim/mxnet/rank_clock.h"

#include <algorithm>

namespace steptime {

void RankClock::call(std::int32_t communicator, MpiWorld::Subject subject, MpiWorld::Cost cost,
                     Callback returns) {
  if (!runs_ahead_) {
    world_.call(rank_, communicator, subject, cost, shared_.now(), returns);
    return;
  }
  std::size_t place = 0;
  if (outstanding_++ == calls_.size())
    place = calls_.size();
  else
    while (calls_[place].earliest != kNever)
      ++place;
  if (place == calls_.size()) calls_.emplace_back();
  const Callback deliver{
      [](void* self, std::uint64_t which) { static_cast<RankClock*>(self)->returned(which); }, this,
      place};
  const std::int64_t number = world_.call(rank_, communicator, subject, cost, own_.now(), deliver);
  const Time earliest = own_.now() + cost.startup + cost.work;
  calls_[place] = {communicator, number, returns, earliest};
  earliest_return_ = std::min(earliest_return_, earliest);
}

void RankClock::returned(std::size_t call) {
  --outstanding_;
  calls_[call].earliest = kNever;
  own_.at(shared_.now(), Phase::kComplete, [returns = calls_[call].returns] { returns(); });
  find_earliest_return();
  run({});
}

void RankClock::run(Moment reached) {
  if (!runs_ahead_) return;
  while (const auto next = own_.next()) {
    if (next->time >= earliest_return_ && *next > reached) {
      find_earliest_return();
      if (next->time >= earliest_return_) return wake_at(*next);
    }
    own_.step();
  }
}

void RankClock::find_earliest_return() {
  earliest_return_ = kNever;
  if (outstanding_ == 0) return;
  for (Call& call : calls_) {
    if (call.earliest == kNever) continue;
    call.earliest =
        std::max(call.earliest, world_.returns_not_before(call.communicator, call.number));
    earliest_return_ = std::min(earliest_return_, call.earliest);
  }
}

void RankClock::wake_at(Moment next) {
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
