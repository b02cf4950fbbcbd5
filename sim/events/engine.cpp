#include "sim/events/engine.h"

#include "sim/core/error.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace steptime {

void refuse_range() {
  throw RangeError("the run leaves the range of simulated time (106 days)");
}

void Engine::refuse(Time time) const {
  if (time < Time{}) refuse_range();
  STEPTIME_CHECK(time >= now_, "an event is scheduled in the past");
  throw InternalError("an event in order was refused");
}

When Engine::begin_another(When since, Time end, Reason reason) {
  return until(since, end, reason);
}

std::uint32_t Engine::take_slot() {
  if (free_head_ == kNone) {
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t slot = free_head_;
  std::memcpy(&free_head_, slots_[slot].action, sizeof free_head_);
  if (free_head_ != kNone) __builtin_prefetch(&slots_[free_head_]);
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

inline bool Engine::front(Event& first) const {
  if (due_phases_ != 0) {
    const DueQueue& queue = due_[static_cast<std::size_t>(std::countr_zero(due_phases_))];
    const Due& due = queue.events[queue.head];
    first = {since_start(now_).count(), due.order, due.slot};
    if (!later_.empty() && later_.front() < first) first = later_.front();
    return true;
  }
  if (later_.empty()) return false;
  first = later_.front();
  return true;
}

inline void Engine::drop(const Event& first) {
  if (!later_.empty() && later_.front().order == first.order) return later_.pop();
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

inline bool Engine::run_event(const Event& first) {
  Slot& slot = slots_[first.slot];
  __builtin_prefetch(&slot);  // the sift below hides the slot's cache miss
  drop(first);
  if (slot.order != first.order) return false;  // cancelled
  if (!later_.empty()) __builtin_prefetch(&slots_[later_.front().slot]);
  // A copy, because the action may schedule events and so move the slab.
  alignas(std::max_align_t) unsigned char action[kActionBytes];
  std::memcpy(action, slot.action, kActionBytes);
  const auto run = slot.run;
  free_slot(first.slot);
  --pending_;
  ++executed_;
  now_ = Time(Duration(first.time));
  fingerprint_ = mix(mix(fingerprint_, static_cast<std::uint64_t>(first.time)), first.order);
  if (causes_ != nullptr) [[unlikely]] {
    cause_ = When(now_, slot_causes_[first.slot]);
    causes_->tidy(now_);
  }
  run(action);
  return true;
}

/// Of this instant, or else, when nothing is left to do in it, of the next one: time moves on.
inline bool Engine::items_come_next() {
  if (items_->empty()) return false;
  const Time time = items_->next_time();
  if (time == now_) return true;
  const bool is_first = later_.empty() || since_start(time).count() <= later_.front().time;
  if (!is_first || due_phases_ != 0 || !unsettled_.empty()) return false;
  now_ = time;
  fingerprint_ = mix(fingerprint_, static_cast<std::uint64_t>(since_start(time).count()));
  return true;
}

inline bool Engine::run_item() {
  const DeliveryQueue::Item item = items_->pop();
  constexpr std::uint32_t kIndex = (1U << Lane::kIndexBits) - 1;
  if (!lanes_[item.index >> Lane::kIndexBits]->ran({item.index & kIndex, item.tag})) return false;
  ++executed_;
  fingerprint_ = mix(fingerprint_, item.index);
  return true;
}

void Engine::settle() {
  for (std::size_t i = 0; i < unsettled_.size(); ++i)
    unsettled_[i]->settle();
  unsettled_.clear();
}

std::uint64_t Engine::run(std::uint64_t most) {
  constexpr std::uint64_t kObservers = static_cast<std::uint64_t>(Phase::kObserve) << kPhaseShift;
  std::uint64_t ran = 0;
  while (ran < most) {
    if (items_ != nullptr && items_come_next()) {
      ran += run_item() ? 1 : 0;
      continue;
    }
    Event first{};
    const bool found = front(first);
    const auto acts = [&] {
      return found && first.time == since_start(now_).count() && first.order < kObservers;
    };
    if (!unsettled_.empty() && !acts()) {
      settle();
      continue;
    }
    if (!found) break;
    ran += run_event(first) ? 1 : 0;
  }
  return ran;
}

void EventsAhead::add(const Event& event) {
  STEPTIME_CHECK(event.moment.time >= now_, "an event is scheduled in the past");
  // Behind those of the same moment, which were inserted before it.
  events_.push_back(event);
  auto place = events_.end() - 1;
  for (; place != events_.begin() && (place - 1)->moment <= event.moment; --place)
    *place = *(place - 1);
  *place = event;
}

EventsAhead::Event EventsAhead::take() {
  const Event event = events_.back();
  events_.pop_back();
  now_ = event.moment.time;
  return event;
}

Lane::Lane(Engine& engine)
    : engine_(engine), bits_(static_cast<std::uint32_t>(engine.lanes_.size()) << kIndexBits) {
  STEPTIME_CHECK(engine.lanes_.size() < std::size_t{1} << (32 - kIndexBits),
                 "an engine has no lane left");
  if (engine.items_ == nullptr) engine.items_ = std::make_unique<DeliveryQueue>();
  engine.lanes_.push_back(this);
}

}  // namespace steptime
