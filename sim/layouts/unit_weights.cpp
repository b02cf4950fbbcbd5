#include "sim/layouts/unit_weights.h"

#include <utility>

namespace steptime {

UnitWeights::UnitWeights(UnitGathering gathering, User user)
    : gathering_(gathering), user_(std::move(user)) {}

/// The next visit in the order of passes; false when there is none left.
bool UnitWeights::find_next() {
  if (has_next_) return true;
  while (place_ > 0 || pass_ < user_.passes()) {
    if (place_ == 0) in_ = user_.pass(pass_);
    const Pass pass = in_;
    const std::size_t units = user_.units[static_cast<std::size_t>(pass.chunk)];
    if (pass.kind == PassKind::kWeightGradient || place_ == units) {
      ++pass_;
      place_ = 0;
      continue;
    }
    const bool is_backward = pass.kind != PassKind::kForward;
    const bool is_first = !is_backward && pass.micro_batch == 0;
    const bool is_last = is_backward && user_.is_last(pass);
    next_ = {.chunk = pass.chunk,
             .unit = is_backward ? place_ : units - 1 - place_,
             .is_backward = is_backward,
             .asks_for_weights = gathering_.reshards || is_first,
             .lets_go = gathering_.reshards || is_last};
    ++place_;
    return has_next_ = true;
  }
  return false;
}

bool UnitWeights::may_ask() const {
  if (!next_.asks_for_weights) return asked_.size() <= static_cast<std::size_t>(gathering_.at_once);
  if (there_ >= gathering_.at_once) return false;
  if (!follows_backward_ || asked_.empty()) return true;
  return next_.is_backward && gathering_.prefetches && asked_.size() == 1 && is_in_;
}

void UnitWeights::ask() {
  while (find_next() && may_ask()) {
    if (next_.asks_for_weights) {
      next_.call = user_.gather(next_.chunk, next_.unit);
      ++there_;
    }
    follows_backward_ = next_.is_backward;
    asked_.push_back(next_);
    has_next_ = false;
  }
}

std::int64_t UnitWeights::begin() {
  is_in_ = true;
  ask();
  return asked_.front().call;
}

void UnitWeights::end() {
  const Visit visit = asked_.front();
  asked_.pop_front();
  is_in_ = false;
  if (visit.asks_for_weights) --there_;
  if (visit.lets_go) user_.let_go(visit.chunk, visit.unit);
  ask();
}

}  // namespace steptime
