#include "sim/runtime/thread_pool.h"

namespace steptime {

bool ThreadPool::add(std::int32_t priority, std::uint32_t operation, CauseId led) {
  if (idle_ > 0) {
    --idle_;
    taken_.push_back({operation, led});
    return true;
  }
  waiting_.push_back({priority, operation});
  if (order_ != PoolOrder::kFifo) sift_up(waiting_.size() - 1, waiting_.back());
  return false;
}

bool ThreadPool::end_one(CauseId led) {
  if (waiting_.empty()) {
    ++idle_;
    return false;
  }
  taken_.push_back({order_ == PoolOrder::kFifo ? pop_first() : pop_heap(), led});
  return true;
}

std::optional<ThreadPool::Taken> ThreadPool::next_taken() {
  if (next_taken_ < taken_.size()) return taken_[next_taken_++];
  taken_.clear();
  next_taken_ = 0;
  return std::nullopt;
}

void ThreadPool::sift_up(std::size_t place, Waiting added) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (!is_below(waiting_[parent], added)) break;
    waiting_[place] = waiting_[parent];
    place = parent;
  }
  waiting_[place] = added;
}

/// The hole at the top goes down to a leaf, by the right child among equals, and the last element
/// goes up from there: the order of libstdc++'s __adjust_heap.
std::uint32_t ThreadPool::pop_heap() {
  const std::uint32_t top = waiting_.front().operation;
  const Waiting last = waiting_.back();
  waiting_.pop_back();
  const std::size_t size = waiting_.size();
  if (size == 0) return top;
  std::size_t hole = 0;
  for (std::size_t right = 2; right <= size; right = 2 * hole + 2) {
    const bool takes_left = right == size || is_below(waiting_[right], waiting_[right - 1]);
    const std::size_t child = takes_left ? right - 1 : right;
    waiting_[hole] = waiting_[child];
    hole = child;
  }
  sift_up(hole, last);
  return top;
}

std::uint32_t ThreadPool::pop_first() {
  const std::uint32_t operation = waiting_[first_++].operation;
  if (2 * std::size_t{first_} >= waiting_.size()) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + first_);
    first_ = 0;
  }
  return operation;
}

}  // namespace steptime
