#include "sim/step/cycles.h"

#include <algorithm>
#include <utility>

namespace steptime {
namespace {

/// Throws RangeError where time ends.
Time after(Time time, Duration duration) {
  return Time(checked_add(since_start(time), duration));
}

}  // namespace

Cycles::Cycles(std::unique_ptr<Policy> inside, Duration cycle, Negotiation negotiation, Pause pause)
    : inside_(std::move(inside)),
      cycle_(cycle),
      negotiation_(std::move(negotiation)),
      pause_(pause),
      idle_(pause == Pause::kAfterEnd ? checked_add(cycle, negotiation_(0))
                                      : std::max(cycle, negotiation_(0))) {}

void Cycles::ready(std::int32_t bucket, Time /*now*/) {
  waiting_.push_back(bucket);
}

void Cycles::arrived(std::span<const std::int32_t> buckets, Time now) {
  under_way_ -= std::min(under_way_, buckets.size());  // none of what was launched
  inside_->arrived(buckets, now);
}

void Cycles::launched(std::span<const std::int32_t> buckets, Time now) {
  under_way_ = 0;
  inside_->launched(buckets, now);
}

std::vector<std::int32_t> Cycles::next(Time now) {
  wake_.reset();
  for (;;) {
    if (under_way_ > 0) return {};
    if (now >= agreed_) {
      for (const std::int32_t bucket : std::exchange(agreed_on_, {}))
        inside_->ready(bucket, now);
    }
    auto first = inside_->next(now);
    under_way_ = first.size();
    if (!first.empty()) return first;
    wake_ = inside_->wake();
    if (!agreed_on_.empty()) {
      wake_at(agreed_);
      return {};
    }
    if (std::exchange(is_open_, false)) {
      begin_ =
          pause_ == Pause::kAfterEnd ? after(now, cycle_) : std::max(now, after(begin_, cycle_));
    }
    if (waiting_.empty()) return {};
    begin_ = first_begin(now);
    if (begin_ > now) {
      wake_at(begin_);
      return {};
    }
    is_open_ = true;
    agreed_ = after(now, negotiation_(waiting_.size()));
    agreed_on_ = std::exchange(waiting_, {});
  }
}

void Cycles::wake_at(Time time) {
  wake_ = std::min(wake_.value_or(time), time);
}

/// Of a cycle, at `now` or later: those that found nothing to do lie `idle_` apart.
Time Cycles::first_begin(Time now) const {
  if (begin_ >= now) return begin_;
  if (idle_ == Duration{}) return now;
  const Duration over = (now - begin_) % idle_;
  return over == Duration{} ? now : after(now, idle_ - over);
}

}  // namespace steptime
