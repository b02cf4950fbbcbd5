#include "sim/mxnet/dependency_engine.h"

#include "sim/core/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {

DependencyEngine::Variable DependencyEngine::add_variable() {
  variables_.emplace_back();
  return static_cast<Variable>(variables_.size() - 1);
}

DependencyEngine::Pool DependencyEngine::add_pool(std::int64_t threads, PoolOrder order) {
  pools_.push_back({threads, order, {}});
  return static_cast<Pool>(pools_.size() - 1);
}

void DependencyEngine::check_names(std::span<const Variable> reads,
                                   std::span<const Variable> writes) {
  const auto fail = [](Variable variable) {
    throw InternalError(fmt::format("an operation names variable {} twice", variable));
  };
  const std::size_t count = reads.size() + writes.size();
  const auto named = [&](std::size_t i) {
    return i < reads.size() ? reads[i] : writes[i - reads.size()];
  };
  if (count <= kInline) {
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (named(i) == named(j)) fail(named(i));
      }
    }
    return;
  }
  named_by_.resize(variables_.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (std::exchange(named_by_[named(i)], pushes_) == pushes_) fail(named(i));
  }
}

DependencyEngine::OperationId DependencyEngine::take_slot() {
  if (free_slots_.empty()) {
    slots_.emplace_back();
    return static_cast<OperationId>(slots_.size() - 1);
  }
  const OperationId id = free_slots_.back();
  free_slots_.pop_back();
  return id;
}

DependencyEngine::OperationId DependencyEngine::push(const Operation& operation,
                                                     std::span<const Variable> reads,
                                                     std::span<const Variable> writes) {
  ++pushes_;
  check_names(reads, writes);
  ++pending_;
  const OperationId id = take_slot();
  Slot& slot = slots_[id];
  slot.pool = static_cast<std::uint16_t>(operation.pool);
  slot.priority = operation.priority;
  slot.missing = static_cast<std::uint32_t>(reads.size() + writes.size() + 1);
  slot.last_granted = kPushed;
  slot.tag = operation.tag;
  slot.duration = operation.duration.value_or(kOpenEnd);
  slot.inline_uses = 0;
  slot.further = kNone;
  std::uint32_t last = kNone;  // of the further uses
  const auto add = [&](Variable variable, bool is_write) {
    const Use use{variable << 1 | static_cast<std::uint32_t>(is_write), kNone};
    if (slot.inline_uses < kInline) {
      slot.uses[slot.inline_uses] = use;
      return request(id << 2 | slot.inline_uses++);
    }
    last = add_further(id, use, last);
    request(kFurther | last);
  };
  for (const Variable variable : reads)
    add(variable, false);
  for (const Variable variable : writes)
    add(variable, true);
  if (--slot.missing == 0) make_ready(id);
  return id;
}

std::uint32_t DependencyEngine::add_further(OperationId operation, Use use, std::uint32_t last) {
  std::uint32_t place = free_further_;
  if (place == kNone) {
    more_.emplace_back();
    place = static_cast<std::uint32_t>(more_.size() - 1);
  } else {
    free_further_ = more_[place].sibling;
  }
  more_[place] = {use, operation, kNone};
  (last == kNone ? slots_[operation].further : more_[last].sibling) = place;
  return place;
}

void DependencyEngine::request(UseId id) {
  const Use asked = use(id);
  VariableState& v = variables_[asked.variable()];
  if (v.first == kNone && !v.writing && (!asked.writes() || v.reading == 0)) {
    if (asked.writes())
      v.writing = true;
    else
      ++v.reading;
    --slots_[user(id)].missing;
    return;
  }
  if (v.first == kNone)
    v.first = id;
  else
    use(v.last).next = id;
  v.last = id;
}

void DependencyEngine::release(Use ended) {
  VariableState& v = variables_[ended.variable()];
  if (ended.writes())
    v.writing = false;
  else
    --v.reading;
  while (v.first != kNone && !v.writing) {
    const UseId id = v.first;
    const Use head = use(id);
    if (head.writes() && v.reading > 0) return;
    v.first = head.next;
    if (head.writes())
      v.writing = true;
    else
      ++v.reading;
    grant(user(id), ended.variable());
  }
}

void DependencyEngine::grant(OperationId operation, Variable variable) {
  Slot& slot = slots_[operation];
  slot.last_granted = variable;
  if (--slot.missing == 0) make_ready(operation);
}

void DependencyEngine::make_ready(OperationId operation) {
  Slot& slot = slots_[operation];
  PoolState& pool = pools_[slot.pool];
  pool.queue.push_back(
      {pool.order == PoolOrder::kPriority ? slot.priority : 0, ready_++, operation});
  std::push_heap(pool.queue.begin(), pool.queue.end());
  if (start_is_due_ || pool.idle_threads == 0) return;
  start_is_due_ = true;
  clock_.after(Duration{}, Phase::kSchedule, [this] { start_operations(); });
}

void DependencyEngine::start_operations() {
  start_is_due_ = false;
  for (PoolState& pool : pools_) {
    while (pool.idle_threads > 0 && !pool.queue.empty()) {
      const OperationId operation = pool.queue.front().operation;
      std::pop_heap(pool.queue.begin(), pool.queue.end());
      pool.queue.pop_back();
      --pool.idle_threads;
      Slot& slot = slots_[operation];
      slot.is_running = true;
      if (slot.duration != kOpenEnd) {
        clock_.after(slot.duration, Phase::kComplete, [this, operation] { end(operation); });
      }
      listener_.started(operation, slot.tag);
    }
  }
}

void DependencyEngine::finish(OperationId operation) {
  STEPTIME_CHECK(slots_[operation].is_running && slots_[operation].duration == kOpenEnd,
                 "only a running operation without a duration can be finished");
  end(operation);
}

void DependencyEngine::end(OperationId operation) {
  Slot& slot = slots_[operation];  // stays where it is until the listener may push
  visit_uses(slot, [&](Use ended) { release(ended); });
  free_further(slot);
  slot.is_running = false;
  const std::uint64_t tag = slot.tag;
  --pending_;
  PoolState& pool = pools_[slot.pool];
  ++pool.idle_threads;
  if (!pool.queue.empty() && !start_is_due_) {
    start_is_due_ = true;
    clock_.after(Duration{}, Phase::kSchedule, [this] { start_operations(); });
  }
  listener_.ended(operation, tag);
  free_slots_.push_back(operation);
}

void DependencyEngine::free_further(const Slot& slot) {
  for (std::uint32_t place = slot.further; place != kNone;) {
    const std::uint32_t next = std::exchange(more_[place].sibling, free_further_);
    free_further_ = std::exchange(place, next);
  }
}

}  // namespace steptime
