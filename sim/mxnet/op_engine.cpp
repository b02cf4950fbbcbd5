#include "sim/mxnet/op_engine.h"

#include "sim/core/error.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace steptime {

OpEngine::OpEngine(Domain& domain, Listener& listener, const Ops& ops, bool keeps_grants)
    : domain_(domain), listener_(listener), ops_(ops), keeps_grants_(keeps_grants) {
  domain.set_decision(
      {[](void* self, std::uint64_t) { static_cast<OpEngine*>(self)->start_operations(); }, this});
}

void OpEngine::begin_step() {
  if (step_ < 0) {
    variables_.resize(ops_.variables());
    for (const Ops::Pool& pool : ops_.pools())
      pools_.emplace_back(pool.threads, pool.order);
    startable_.resize(pools_.size() / 64 + 1);
  } else {
    STEPTIME_CHECK(pushed_ == ops_.operations(),
                   "a step pushes as many operations as the one before");
  }
  ++step_;
  pushed_ = 0;
}

OpEngine::OperationId OpEngine::push(std::uint32_t label) {
  const std::uint32_t number = pushed_;
  const Ops::Operation& operation = ops_.operation(number);
  STEPTIME_CHECK(operation.label == label, "every step pushes the same operations");
  const OperationId id = id_of(number, step_);
  if (number >= in_a_step_) {  // in the first step
    in_a_step_ = static_cast<std::uint32_t>(ops_.operations());
    progress_.resize(in_a_step_);
    if (keeps_grants_) last_granted_.resize(in_a_step_);
  }
  while (state(id) != State::kFree)
    keep_more_steps();
  ++pushed_;
  ++pending_;
  std::uint32_t missing = operation.uses;
  for (UseId use = operation.first_use; use < operation.first_use + operation.uses; ++use)
    missing -= request(use) ? 1 : 0;
  progress_[place(id)] = missing * kMissing | static_cast<Progress>(State::kBlocked);
  if (keeps_grants_) last_granted_[place(id)] = Ops::kPushed;
  if (missing == 0) make_ready(id);
  return id;
}

template <class Visit>
void OpEngine::for_all_kept(Visit visit) const {
  const std::int64_t oldest = step_ - steps_kept_;  // has the places that this step has not come to
  for (std::int64_t step = std::max<std::int64_t>(oldest, 0); step <= step_; ++step) {
    const std::uint32_t end = step == step_ ? pushed_ : in_a_step_;
    for (std::uint32_t number = step == oldest ? pushed_ : 0; number < end; ++number)
      visit(id_of(number, step));
  }
}

void OpEngine::keep_more_steps() {
  STEPTIME_CHECK(steps_kept_ < kSteps / 2, "an operation ends before 128 more steps begin");
  const std::uint32_t kept = 2 * steps_kept_;
  std::vector<Progress> progress(2 * progress_.size());
  std::vector<Variable> last_granted(2 * last_granted_.size());
  for_all_kept([&](OperationId id) {
    progress[place(id, kept)] = progress_[place(id)];
    if (keeps_grants_) last_granted[place(id, kept)] = last_granted_[place(id)];
  });
  progress_ = std::move(progress);
  last_granted_ = std::move(last_granted);
  steps_kept_ = kept;
}

inline bool OpEngine::is_pushed(std::uint32_t number, std::uint32_t step) const {
  const std::uint32_t ahead = (step - static_cast<std::uint32_t>(step_)) % kSteps;
  return ahead == 0 ? number < pushed_ : ahead != 1;
}

/// Of the operation that is pushed next, or is being pushed.
inline bool OpEngine::is_free(UseId id) const {
  const Use& use = ops_.use(id);
  const VariableState& state = variables_[use.variable];
  if (!is_first_to_come(state) &&
      (state.next != id || state.step() != static_cast<std::uint32_t>(step_) % kSteps)) {
    return false;
  }
  return state.allows(use);
}

bool OpEngine::next_is_free() const {
  if (pushed_ == ops_.operations()) return false;
  const Ops::Operation& next = ops_.operation(pushed_);
  for (UseId use = next.first_use; use < next.first_use + next.uses; ++use) {
    if (!is_free(use)) return false;
  }
  return true;
}

/// Of the operation that is being pushed: false when it has to wait.
inline bool OpEngine::request(UseId id) {
  const Use& use = ops_.use(id);
  VariableState& state = variables_[use.variable];
  if (is_first_to_come(state)) {
    state.next = id;
    --state.granted;
  }
  if (!is_free(id)) return false;
  state.grant(use);
  return true;
}

inline void OpEngine::release(const Use& ended) {
  VariableState& state = variables_[ended.variable];
  state.release(ended);
  for (;;) {
    const Use& use = ops_.use(state.next);
    if (!state.allows(use) || !is_pushed(use.operation, state.step())) return;
    const OperationId operation = id_of(use.operation, state.step());
    state.grant(use);
    Progress& waiting = progress_[place(operation)];
    waiting -= kMissing;
    if (keeps_grants_) last_granted_[place(operation)] = ended.variable;
    if (waiting < kMissing) make_ready(operation);
  }
}

void OpEngine::make_ready(OperationId operation) {
  progress_[place(operation)] = static_cast<Progress>(State::kQueued);
  const Ops::Operation& ready = ops_.operation(number_of(operation));
  if (pools_[ready.pool].add(ready.priority, operation, domain_.present().cause))
    ask_to_start(ready.pool);
}

inline void OpEngine::ask_to_start(Ops::PoolId pool) {
  startable_[pool / 64] |= std::uint64_t{1} << pool % 64;
  domain_.ask_for_decision();
}

void OpEngine::start_operations() {
  for (std::size_t word = 0; word < startable_.size(); ++word) {
    for (std::uint64_t& pools = startable_[word]; pools != 0; pools &= pools - 1)
      start(
          static_cast<Ops::PoolId>(64 * word + static_cast<std::size_t>(std::countr_zero(pools))));
  }
}

inline void OpEngine::start(Ops::PoolId pool) {
  while (const auto taken = pools_[pool].next_taken()) {
    const OperationId operation = taken->operation;
    progress_[place(operation)] = static_cast<Progress>(State::kRunning);
    if (domain_.keeps_causes()) domain_.because(When(domain_.now(), taken->led));
    if (const auto over = listener_.started(operation))
      domain_.at(*over, Phase::kComplete, [this, operation] { end(operation); });
  }
}

void OpEngine::finish(OperationId operation) {
  STEPTIME_CHECK(state(operation) == State::kRunning, "only a running operation can be finished");
  end(operation);
}

void OpEngine::end(OperationId operation) {
  const Ops::Operation& over = ops_.operation(number_of(operation));
  for (const Use& ended : ops_.uses(over))
    release(ended);
  progress_[place(operation)] = static_cast<Progress>(State::kFree);
  --pending_;
  if (pools_[over.pool].end_one(domain_.present().cause)) ask_to_start(over.pool);
  listener_.ended(operation);
}

std::vector<OpEngine::OperationId> OpEngine::all_pending() const {
  std::vector<OperationId> all;
  for_all_kept([&](OperationId operation) {
    if (state(operation) != State::kFree) all.push_back(operation);
  });
  return all;
}

std::vector<OpEngine::OperationId> OpEngine::blockers(OperationId operation) const {
  std::vector<OperationId> found;
  const auto uses_of = [&](OperationId id) { return ops_.uses(ops_.operation(number_of(id))); };
  for (const OperationId id : all_pending()) {
    if (id == operation) break;
    bool conflicts = false;
    for (const Use& mine : uses_of(operation)) {
      for (const Use& theirs : uses_of(id))
        conflicts |= mine.variable == theirs.variable && (mine.writes || theirs.writes);
    }
    if (conflicts) found.push_back(id);
  }
  return found;
}

std::vector<OpEngine::OperationId> OpEngine::on_threads_of(OperationId operation) const {
  const auto pool_of = [&](OperationId id) { return ops_.operation(number_of(id)).pool; };
  std::vector<OperationId> found;
  for (const OperationId id : all_pending()) {
    if (pool_of(id) == pool_of(operation) && state(id) == State::kRunning) found.push_back(id);
  }
  return found;
}

}  // namespace steptime
