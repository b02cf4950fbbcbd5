#include "sim/dependency_engine.h"

#include "sim/error.h"

#include <algorithm>

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

DependencyEngine::OperationId DependencyEngine::push(const Operation& operation,
                                                     std::span<const Variable> reads,
                                                     std::span<const Variable> writes) {
  OperationId id = 0;
  if (free_slots_.empty()) {
    slots_.emplace_back();
    id = static_cast<OperationId>(slots_.size() - 1);
  } else {
    id = free_slots_.back();
    free_slots_.pop_back();
  }
  ++pending_;
  ++pushes_;
  Slot& slot = slots_[id];
  slot.state = State::kBlocked;
  slot.pool = operation.pool;
  slot.priority = operation.priority;
  slot.missing = static_cast<std::uint32_t>(reads.size() + writes.size() + 1);
  slot.last_granted = kPushed;
  slot.tag = operation.tag;
  slot.push_number = pushes_;
  slot.duration = operation.duration;
  slot.uses.clear();
  const auto name = [&](Variable variable, bool is_write) {
    std::uint64_t& named_by = variables_[variable].named_by;
    STEPTIME_CHECK(named_by != pushes_,
                   fmt::format("an operation names variable {} twice", variable));
    named_by = pushes_;
    slot.uses.push_back({variable, is_write});
  };
  for (const Variable variable : reads)
    name(variable, false);
  for (const Variable variable : writes)
    name(variable, true);
  for (const Use& use : slot.uses)
    request(id, use.variable, use.writes);
  if (--slot.missing == 0) make_ready(id);
  return id;
}

void DependencyEngine::request(OperationId operation, Variable variable, bool writes) {
  VariableState& v = variables_[variable];
  const bool is_free = v.first == kNone && !v.writing && (!writes || v.reading == 0);
  if (is_free) {
    if (writes)
      v.writing = true;
    else
      ++v.reading;
    --slots_[operation].missing;
    return;
  }
  std::uint32_t block = free_block_;
  if (block == kNone) {
    blocks_.emplace_back();
    block = static_cast<std::uint32_t>(blocks_.size() - 1);
  } else {
    free_block_ = blocks_[block].next;
  }
  blocks_[block] = {operation, kNone, writes};
  if (v.first == kNone)
    v.first = block;
  else
    blocks_[v.last].next = block;
  v.last = block;
}

void DependencyEngine::release(Variable variable, bool writes) {
  VariableState& v = variables_[variable];
  if (writes)
    v.writing = false;
  else
    --v.reading;
  while (v.first != kNone && !v.writing) {
    const std::uint32_t block = v.first;
    const Block head = blocks_[block];
    if (head.writes && v.reading > 0) return;
    v.first = head.next;
    blocks_[block].next = free_block_;
    free_block_ = block;
    if (head.writes)
      v.writing = true;
    else
      ++v.reading;
    grant(head.operation, variable);
  }
}

void DependencyEngine::grant(OperationId operation, Variable variable) {
  Slot& slot = slots_[operation];
  slot.last_granted = variable;
  if (--slot.missing == 0) make_ready(operation);
}

void DependencyEngine::make_ready(OperationId operation) {
  Slot& slot = slots_[operation];
  slot.state = State::kQueued;
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
      slot.state = State::kRunning;
      if (slot.duration) {
        clock_.after(*slot.duration, Phase::kComplete, [this, operation] { end(operation); });
      }
      listener_.started(operation, slot.tag);
    }
  }
}

void DependencyEngine::finish(OperationId operation) {
  STEPTIME_CHECK(slots_[operation].state == State::kRunning && !slots_[operation].duration,
                 "only a running operation without a duration can be finished");
  end(operation);
}

void DependencyEngine::end(OperationId operation) {
  for (const Use& use : slots_[operation].uses)
    release(use.variable, use.writes);
  Slot& slot = slots_[operation];
  slot.state = State::kFree;
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

std::vector<DependencyEngine::OperationId> DependencyEngine::all_pending() const {
  std::vector<OperationId> all;
  for (OperationId id = 0; id < slots_.size(); ++id) {
    if (slots_[id].state != State::kFree) all.push_back(id);
  }
  std::sort(all.begin(), all.end(), [&](OperationId a, OperationId b) {
    return slots_[a].push_number < slots_[b].push_number;
  });
  return all;
}

std::vector<DependencyEngine::OperationId> DependencyEngine::blockers(OperationId operation) const {
  std::vector<OperationId> found;
  const Slot& waiting = slots_[operation];
  for (const OperationId id : all_pending()) {
    const Slot& other = slots_[id];
    if (other.push_number >= waiting.push_number) break;
    const bool conflicts = std::any_of(waiting.uses.begin(), waiting.uses.end(), [&](Use mine) {
      return std::any_of(other.uses.begin(), other.uses.end(), [&](Use theirs) {
        return mine.variable == theirs.variable && (mine.writes || theirs.writes);
      });
    });
    if (conflicts) found.push_back(id);
  }
  return found;
}

std::vector<DependencyEngine::OperationId> DependencyEngine::on_threads_of(
    OperationId operation) const {
  std::vector<OperationId> found;
  for (const OperationId id : all_pending()) {
    if (slots_[id].pool == slots_[operation].pool && slots_[id].state == State::kRunning)
      found.push_back(id);
  }
  return found;
}

}  // namespace steptime
