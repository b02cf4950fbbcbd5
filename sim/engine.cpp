#include "sim/engine.h"

#include <algorithm>
#include <cstring>

namespace steptime {

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
  std::size_t hole = 0;
  for (std::size_t first = 1; first < size; first = 4 * hole + 1) {
    std::size_t least = first;
    const std::size_t end = std::min(first + 4, size);
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap_[child] < heap_[least]) least = child;
    }
    if (!(heap_[least] < last)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = last;
}

bool Engine::step() {
  while (!heap_.empty()) {
    const Event event = heap_.front();
    Slot& slot = slots_[event.slot];
    __builtin_prefetch(&slot);  // the sift below hides the slot's cache miss
    pop();
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
