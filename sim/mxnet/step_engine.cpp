#include "sim/mxnet/step_engine.h"

#include "sim/core/error.h"

#include <bit>

namespace steptime {

StepEngine::StepEngine(Domain& domain, Listener& listener, const StepShape& shape,
                       bool keeps_grants)
    : domain_(domain),
      listener_(listener),
      shape_(shape),
      variables_(shape.variables()),
      keeps_grants_(keeps_grants) {
  for (const StepShape::PoolOf& pool : shape.pools())
    pools_.emplace_back(pool.threads, pool.order);
  domain.set_decision(
      {[](void* self, std::uint64_t) { static_cast<StepEngine*>(self)->start_operations(); },
       this});
}

void StepEngine::begin_step() {
  STEPTIME_CHECK(step_ < 0 || pushed_ == shape_.operations(),
                 "a step pushes as many operations as the one before");
  ++step_;
  pushed_ = 0;
}

StepEngine::OperationId StepEngine::push(std::uint32_t label) {
  const std::uint32_t number = pushed_;
  const StepShape::Operation& operation = shape_.operation(number);
  STEPTIME_CHECK(operation.label == label, "every step pushes the same operations");
  const auto odd = static_cast<std::uint32_t>(step_ & 1);
  std::vector<Progress>& of_step = progress_[odd];
  if (number >= of_step.size()) {
    of_step.resize(shape_.operations());
    if (keeps_grants_) last_granted_[odd].resize(shape_.operations());
  }
  STEPTIME_CHECK(static_cast<State>(of_step[number] & 3) == State::kFree,
                 "an operation ends before it is pushed two steps later");
  ++pushed_;
  ++pending_;
  const OperationId id = number | odd << 31;
  std::uint32_t missing = operation.uses;
  for (UseId use = operation.first_use; use < operation.first_use + operation.uses; ++use)
    missing -= request(use) ? 1 : 0;
  of_step[number] = missing * kMissing | static_cast<Progress>(State::kBlocked);
  if (keeps_grants_) last_granted_[odd][number] = StepShape::kPushed;
  if (missing == 0) make_ready(id);
  return id;
}

inline bool StepEngine::is_pushed(std::uint32_t number, std::uint32_t step) const {
  const std::uint32_t ahead = (step - static_cast<std::uint32_t>(step_)) & 3;
  return ahead == 0 ? number < pushed_ : ahead != 1;
}

/// Of the operation that is being pushed: false when it has to wait.
inline bool StepEngine::request(UseId id) {
  const Use& use = shape_.use(id);
  VariableState& state = variables_[use.variable];
  // All uses of the variable were granted before the shape of the first step had this one.
  if (step_ == 0 && state.step() == 1) {
    state.next = id;
    --state.granted;
  }
  if (state.next != id || state.step() != (static_cast<std::uint32_t>(step_) & 3) ||
      !state.allows(use)) {
    return false;
  }
  state.grant(use);
  return true;
}

inline void StepEngine::release(const Use& ended) {
  VariableState& state = variables_[ended.variable];
  state.release(ended);
  for (;;) {
    const Use& use = shape_.use(state.next);
    if (!state.allows(use) || !is_pushed(use.operation, state.step())) return;
    const OperationId operation = use.operation | state.step() << 31;
    state.grant(use);
    Progress& waiting = progress(operation);
    waiting -= kMissing;
    if (keeps_grants_) last_granted_[operation >> 31][use.operation] = ended.variable;
    if (waiting < kMissing) make_ready(operation);
  }
}

void StepEngine::make_ready(OperationId operation) {
  progress(operation) = static_cast<Progress>(State::kQueued);
  const StepShape::Operation& shape = shape_.operation(number_of(operation));
  if (pools_[shape.pool].add(shape.priority, operation)) ask_to_start(shape.pool);
}

inline void StepEngine::ask_to_start(StepShape::Pool pool) {
  startable_ |= 1U << pool;
  domain_.ask_for_decision();
}

void StepEngine::start_operations() {
  for (; startable_ != 0; startable_ &= startable_ - 1) {
    ThreadPool& pool = pools_[static_cast<std::size_t>(std::countr_zero(startable_))];
    while (const auto operation = pool.next_taken()) {
      progress(*operation) = static_cast<Progress>(State::kRunning);
      if (const auto duration = listener_.started(*operation)) {
        domain_.after(*duration, Phase::kComplete, [this, ended = *operation] { end(ended); });
      }
    }
  }
}

void StepEngine::finish(OperationId operation) {
  STEPTIME_CHECK(state(operation) == State::kRunning, "only a running operation can be finished");
  end(operation);
}

void StepEngine::end(OperationId operation) {
  const StepShape::Operation& shape = shape_.operation(number_of(operation));
  for (const Use& ended : shape_.uses(shape))
    release(ended);
  progress(operation) = static_cast<Progress>(State::kFree);
  --pending_;
  if (pools_[shape.pool].end_one()) ask_to_start(shape.pool);
  listener_.ended(operation);
}

std::vector<StepEngine::OperationId> StepEngine::all_pending() const {
  std::vector<OperationId> all;
  const auto odd = static_cast<std::uint32_t>(step_ & 1);
  for (const std::uint32_t of : {odd ^ 1, odd}) {
    for (std::uint32_t number = 0; number < progress_[of].size(); ++number) {
      if (state(number | of << 31) != State::kFree) all.push_back(number | of << 31);
    }
  }
  return all;
}

std::vector<StepEngine::OperationId> StepEngine::blockers(OperationId operation) const {
  std::vector<OperationId> found;
  const auto uses_of = [&](OperationId id) { return shape_.uses(shape_.operation(number_of(id))); };
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

std::vector<StepEngine::OperationId> StepEngine::on_threads_of(OperationId operation) const {
  const auto pool_of = [&](OperationId id) { return shape_.operation(number_of(id)).pool; };
  std::vector<OperationId> found;
  for (const OperationId id : all_pending()) {
    if (pool_of(id) == pool_of(operation) && state(id) == State::kRunning) found.push_back(id);
  }
  return found;
}

}  // namespace steptime
