#include "sim/events/event_queue.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace steptime {

void EventQueue::sift_up(const Event& event) {
  std::size_t hole = heap_.size();
  heap_.push_back(event);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / 4;
    if (!(event < heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

/// Puts `last` into the hole, or below it.
void EventQueue::sift_down(std::size_t hole, const Event& last) {
  const std::size_t size = heap_.size();
  Event* const heap = heap_.data();
  std::size_t first = 4 * hole + 1;  // child of the hole
  for (; first + 3 < size; first = 4 * hole + 1) {
    // A tournament of sums instead of branches: which child is least cannot be predicted.
    const std::size_t left = first + static_cast<std::size_t>(heap[first + 1] < heap[first]);
    const std::size_t right =
        first + 2 + static_cast<std::size_t>(heap[first + 3] < heap[first + 2]);
    const std::size_t least = heap[right] < heap[left] ? right : left;
    if (!(heap[least] < last)) break;
    heap[hole] = heap[least];
    hole = least;
  }
  if (first + 3 >= size && first < size) {  // the last, incomplete family
    const Event* const least = std::min_element(heap + first, heap + size);
    if (*least < last) {
      heap[hole] = *least;
      hole = static_cast<std::size_t>(least - heap);
    }
  }
  heap_[hole] = last;
}

void EventQueue::order_heap() {
  if (heap_.size() < 2) return;
  for (std::size_t hole = (heap_.size() - 2) / 4 + 1; hole > 0; --hole)
    sift_down(hole - 1, Event(heap_[hole - 1]));
}

void EventQueue::push_far(const Event& event) {
  if (rungs_.empty()) return sift_up(event);  // at the last time of all
  auto rung = rungs_.rbegin();
  while (event.time >= rung->end && rung + 1 != rungs_.rend())
    ++rung;
  put(*rung, event);
}

void EventQueue::put(Rung& rung, const Event& event) {
  std::uint32_t& head = rung.buckets[rung.bucket_of(event.time)];
  if (head == kNone || chunks_[head].count == Chunk::kEvents) {
    std::uint32_t chunk = free_chunk_;
    if (chunk == kNone) {
      chunk = static_cast<std::uint32_t>(chunks_.size());
      chunks_.emplace_back();
    } else {
      free_chunk_ = chunks_[chunk].next;
    }
    chunks_[chunk].next = head;
    head = chunk;
  }
  Chunk& chunk = chunks_[head];
  chunk.events[chunk.count++] = event;
}

/// Moves a bucket's events into `moved_`.
void EventQueue::empty_bucket(Rung& rung, std::size_t bucket) {
  moved_.clear();
  for (std::uint32_t head = std::exchange(rung.buckets[bucket], kNone); head != kNone;) {
    Chunk& chunk = chunks_[head];
    moved_.insert(moved_.end(), chunk.events, chunk.events + chunk.count);
    chunk.count = 0;
    const std::uint32_t next = std::exchange(chunk.next, free_chunk_);
    free_chunk_ = std::exchange(head, next);
  }
}

/// `events` are at least kMost, not all of one time.
void EventQueue::add_rung(const std::vector<Event>& events, std::int64_t begin, std::int64_t end) {
  std::int64_t last = begin;
  for (const Event& event : events)
    last = std::max(last, event.time);
  const std::size_t buckets = events.size() / kInBucket;
  const auto width = static_cast<std::uint64_t>(last - begin) / buckets;
  const int shift = static_cast<int>(std::bit_width(width));
  const auto used = static_cast<std::size_t>((last - begin) >> shift) + 2;  // one for the rest
  Rung rung{.begin = begin, .end = end, .shift = shift};
  rung.buckets.assign(used, kNone);
  for (const Event& event : events)
    put(rung, event);
  rungs_.push_back(std::move(rung));
}

/// Leaves the earliest events in the heap.
void EventQueue::spill() {
  const auto kept = heap_.begin() + kKept;
  std::nth_element(heap_.begin(), kept, heap_.end());
  const std::int64_t begin = kept->time + 1;  // all of one time stay together
  const auto behind = std::partition(heap_.begin(), heap_.end(),
                                     [&](const Event& event) { return event.time < begin; });
  moved_.assign(behind, heap_.end());
  heap_.erase(behind, heap_.end());
  order_heap();
  if (moved_.size() < kMost / 2) {  // nearly all are at one time
    spill_size_ = 2 * (heap_.size() + moved_.size());
    for (const Event& event : moved_)
      sift_up(event);
    return;
  }
  add_rung(moved_, begin, near_end_);
  near_end_ = begin;
  spill_size_ = std::max(kMost, 2 * heap_.size());
}

/// Makes the earliest bucket the heap.
void EventQueue::refill() {
  spill_size_ = kMost;
  while (!rungs_.empty()) {
    Rung& rung = rungs_.back();
    while (rung.next < rung.buckets.size() && rung.buckets[rung.next] == kNone)
      ++rung.next;
    if (rung.next == rung.buckets.size()) {
      near_end_ = rung.end;
      rungs_.pop_back();
      continue;
    }
    const std::size_t bucket = rung.next++;
    empty_bucket(rung, bucket);
    const bool is_last = bucket + 1 == rung.buckets.size();
    const std::int64_t begin = rung.begin + (static_cast<std::int64_t>(bucket) << rung.shift);
    const std::int64_t width = std::int64_t{1} << rung.shift;
    near_end_ = rung.end;  // which may lie within the last buckets
    if (!is_last && near_end_ - begin > width) near_end_ = begin + width;
    const auto [first, last] =
        std::minmax_element(moved_.begin(), moved_.end(),
                            [](const Event& a, const Event& b) { return a.time < b.time; });
    if (moved_.size() > kMost && first->time < last->time) {
      const std::int64_t from = first->time;
      const std::int64_t end = std::exchange(near_end_, from);
      add_rung(moved_, from, end);
      continue;
    }
    heap_.swap(moved_);
    order_heap();
    spill_size_ = std::max(kMost, 2 * heap_.size());
    return;
  }
}

}  // namespace steptime
