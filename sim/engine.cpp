#include "sim/engine.h"

#include "sim/error.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace steptime {

void Engine::refuse(Time time) const {
  if (time < Time{}) throw RangeError("the run leaves the range of simulated time (106 days)");
  STEPTIME_CHECK(time >= now_, "an event is scheduled in the past");
  throw InternalError("an event in order was refused");
}

std::uint32_t Engine::take_slot() {
  if (free_head_ == kNone) {
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t slot = free_head_;
  std::memcpy(&free_head_, slots_[slot].action, sizeof free_head_);
  return slot;
}

void Engine::free_slot(std::uint32_t slot) {
  slots_[slot].order = kFree;
  std::memcpy(slots_[slot].action, &free_head_, sizeof free_head_);
  free_head_ = slot;
}

bool Engine::cancel(EventId id) {
  if (id.slot >= slots_.size() || slots_[id.slot].order != id.order) return false;
  free_slot(id.slot);
  --pending_;
  return true;
}

void Engine::push(Event event) {
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

void Engine::pop() {
  const Event last = heap_.back();
  heap_.pop_back();
  const std::size_t size = heap_.size();
  if (size == 0) return;
  Event* const heap = heap_.data();
  std::size_t hole = 0;
  std::size_t first = 1;  // child of the hole
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

bool Engine::front(Event& first) const {
  if (due_phases_ != 0) {
    const DueQueue& queue = due_[static_cast<std::size_t>(std::countr_zero(due_phases_))];
    const Due& due = queue.events[queue.head];
    first = {since_start(now_).count(), due.order, due.slot};
    if (!heap_.empty() && heap_.front() < first) first = heap_.front();
    return true;
  }
  if (heap_.empty()) return false;
  first = heap_.front();
  return true;
}

void Engine::drop(const Event& first) {
  if (!heap_.empty() && heap_.front().order == first.order) return pop();
  DueQueue& queue = due_[static_cast<std::size_t>(std::countr_zero(due_phases_))];
  if (++queue.head < queue.events.size()) return;
  queue.events.clear();
  queue.head = 0;
  due_phases_ &= due_phases_ - 1;
}

std::optional<Moment> Engine::next() {
  for (Event event{}; front(event); drop(event)) {
    if (slots_[event.slot].order != event.order) continue;  // cancelled
    return Moment{Time(Duration(event.time)), static_cast<Phase>(event.order >> kPhaseShift)};
  }
  return std::nullopt;
}

bool Engine::step() {
  for (Event event{}; front(event);) {
    Slot& slot = slots_[event.slot];
    __builtin_prefetch(&slot);  // the sift below hides the slot's cache miss
    drop(event);
    if (slot.order != event.order) continue;  // cancelled
    // A copy, because the action may schedule events and so move the slab.
    alignas(std::max_align_t) unsigned char action[kActionBytes];
    std::memcpy(action, slot.action, kActionBytes);
    const auto run = slot.run;
    free_slot(event.slot);
    --pending_;
    ++executed_;
    now_ = Time(Duration(event.time));
    fingerprint_ = mix(mix(fingerprint_, static_cast<std::uint64_t>(event.time)), event.order);
    run(action);
    return true;
  }
  return false;
}

}  // namespace steptime
