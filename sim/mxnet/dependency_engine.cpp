#include "sim/mxnet/dependency_engine.h"

#include "sim/core/error.h"

#include <utility>

#include <fmt/format.h>

namespace steptime {

DependencyEngine::Variable DependencyEngine::add_variable() {
  variables_.emplace_back();
  return static_cast<Variable>(variables_.size() - 1);
}

DependencyEngine::Pool DependencyEngine::add_pool(std::int64_t threads, PoolOrder order) {
  pools_.emplace_back(threads, order);
  return static_cast<Pool>(pools_.size() - 1);
}

DependencyEngine::OperationId DependencyEngine::free_slot() {
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
  ++pending_;
  const OperationId id = free_slot();
  Slot& slot = slots_[id];
  slot.operation = operation;
  slot.uses.clear();
  slot.last_granted = kPushed;
  for (const Variable variable : reads)
    request({id, variable, false});
  for (const Variable variable : writes)
    request({id, variable, true});
  if (slot.missing == 0) make_ready(id);
  return id;
}

void DependencyEngine::request(const Use& use) {
  VariableState& v = variables_[use.variable];
  if (std::exchange(v.named_by, pushes_) == pushes_)
    throw InternalError(fmt::format("an operation names variable {} twice", use.variable));
  Slot& slot = slots_[use.operation];
  slot.uses.push_back(use);
  if (v.waiting.empty() && v.allows(use)) return v.grant(use);
  v.waiting.push_back(use);
  ++slot.missing;
}

void DependencyEngine::release(const Use& ended) {
  VariableState& v = variables_[ended.variable];
  if (ended.writes)
    v.writing = false;
  else
    --v.reading;
  while (!v.waiting.empty() && v.allows(v.waiting.front())) {
    const Use use = v.waiting.front();
    v.waiting.erase(v.waiting.begin());
    v.grant(use);
    Slot& slot = slots_[use.operation];
    slot.last_granted = use.variable;
    if (--slot.missing == 0) make_ready(use.operation);
  }
}

void DependencyEngine::make_ready(OperationId operation) {
  const Operation& ready = slots_[operation].operation;
  if (pools_[ready.pool].add(ready.priority, operation)) ask_to_start();
}

void DependencyEngine::ask_to_start() {
  if (std::exchange(start_is_due_, true)) return;
  clock_.after(Duration{}, Phase::kSchedule, [this] { start_operations(); });
}

void DependencyEngine::start_operations() {
  start_is_due_ = false;
  for (ThreadPool& pool : pools_) {
    while (const auto id = pool.next_taken()) {
      slots_[*id].is_running = true;
      const Operation& operation = slots_[*id].operation;
      if (operation.duration)
        clock_.after(*operation.duration, Phase::kComplete, [this, id = *id] { end(id); });
      listener_.started(*id, operation.tag);
    }
  }
}

void DependencyEngine::finish(OperationId operation) {
  const Slot& slot = slots_[operation];
  STEPTIME_CHECK(slot.is_running && !slot.operation.duration,
                 "only a running operation without a duration can be finished");
  end(operation);
}

void DependencyEngine::end(OperationId operation) {
  Slot& slot = slots_[operation];  // stays where it is until the listener may push
  slot.is_running = false;
  for (const Use& use : slot.uses)
    release(use);
  --pending_;
  if (pools_[slot.operation.pool].end_one()) ask_to_start();
  listener_.ended(operation, slot.operation.tag);
  free_slots_.push_back(operation);
}

}  // namespace steptime
