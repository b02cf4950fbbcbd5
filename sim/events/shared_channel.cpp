#include "sim/events/shared_channel.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace steptime {

void SharedChannel::start(Duration startup, Duration work, Callback done) {
  std::size_t place = waiting_.size();
  if (free_waiting_.empty()) {
    waiting_.push_back({work, done});
  } else {
    place = free_waiting_.back();
    free_waiting_.pop_back();
    waiting_[place] = {work, done};
  }
  clock_.at(clock_.until(clock_.present(), startup, startup_), Phase::kComplete,
            [this, place] { begin_work(place); });
}

void SharedChannel::begin_work(std::size_t waiting) {
  progress();
  const auto [work, done] = waiting_[waiting];
  active_.push_back({work, done, clock_.now() + work, clock_.hold(clock_.present())});
  free_waiting_.push_back(waiting);
  schedule_end();
}

void SharedChannel::progress() {
  const Duration elapsed = clock_.now() - progressed_to_;
  progressed_to_ = clock_.now();
  if (active_.empty()) return;
  const auto share = static_cast<std::int64_t>(active_.size());
  for (Transfer& transfer : active_)
    transfer.left -= std::min(transfer.left, elapsed / share);
}

void SharedChannel::schedule_end() {
  if (end_is_scheduled_) clock_.cancel(end_);
  end_is_scheduled_ = !active_.empty();
  if (active_.empty()) return;
  const auto first =
      std::min_element(active_.begin(), active_.end(),
                       [](const Transfer& a, const Transfer& b) { return a.left < b.left; });
  const auto share = static_cast<std::int64_t>(active_.size());
  end_ = clock_.after(first->left * share, Phase::kComplete, [this] { end_finished(); });
}

void SharedChannel::end_finished() {
  end_is_scheduled_ = false;
  progress();
  finished_.clear();
  std::erase_if(active_, [&](const Transfer& transfer) {
    if (transfer.left > Duration{}) return false;
    finished_.push_back(transfer);
    return true;
  });
  schedule_end();
  // A copy, because what is called may start transfers.
  const std::vector<Transfer> finished = std::exchange(finished_, {});
  for (const Transfer& transfer : finished) {
    const Time end = std::min(transfer.alone, clock_.now());
    const When alone = clock_.until(clock_.release(transfer.begun), end, work_);
    clock_.because(clock_.until(alone, clock_.now(), sharing_));
    transfer.done();
  }
}

}  // namespace steptime
