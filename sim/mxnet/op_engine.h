// OpEngine: the dependency engine of MXNet 1.x, for a process that pushes the same operations in
// every step: one GPU of many ranks, or all GPUs of a node.
//
// A variable has a FIFO of version blocks. A read is granted iff no write is running or waiting on
// the variable; a write is granted when all earlier reads and writes have ended. An operation is
// ready when all its variables are granted; it then queues for a thread of its pool, and it holds
// its variables until it ends. In which order threads take operations is in thread_pool.h; the
// listener hears of those that were taken once per instant, after everything that ends or is pushed
// at that instant.
//
// What is the same in every step and at every rank is in Ops. Of an operation an engine has its
// missing grants, of a variable the use that is to be granted next: who waits for it follows from
// Ops and from how far the program has come. With many ranks, what a run spends its time on is
// reading their state.
//
// Causes: an operation begins because of what it waited for last, the push, the end of an operation
// that held a variable or that of one on a thread; all of these are events, at that instant.
//
// Scope: threads do nothing but run operations; a thread that runs an operation which waits (a
// blocking MPI call) is taken until it ends. An operation ends before
// 128 more steps have begun.
// Validation: tests/sim/mxnet/engine_cases.json; tests/support/dependency_engine.h, which knows
// nothing of steps.
// Source: apache/mxnet 1.3.1 src/engine/threaded_engine.{h,cc}, threaded_engine_perdevice.cc.
#pragma once
#include "sim/core/units.h"
#include "sim/events/run_ahead.h"
#include "sim/mxnet/ops.h"
#include "sim/runtime/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <boost/container/small_vector.hpp>

namespace steptime {

class OpEngine {
 public:
  using Variable = Ops::Variable;
  /// Its number in the step, and above it the step modulo 256: names it until it ends.
  using OperationId = std::uint32_t;

  enum class State : std::uint8_t {
    kFree,
    kBlocked,  ///< on a variable
    kQueued,   ///< for a thread
    kRunning,
  };

  /// Is told what happens. May push operations when one has ended.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// A thread has taken the operation. Returns when it ends; none: when the caller says so.
    virtual std::optional<When> started(OperationId operation) = 0;
    /// The operation has ended and its variables are released.
    virtual void ended(OperationId operation) = 0;
  };

  /// The domain's decisions are the engine's. `keeps_grants`: last_granted() is asked for.
  OpEngine(Domain& domain, Listener& listener, const Ops& ops, bool keeps_grants);

  /// Of the program; when the first begins, Ops have their pools and variables. Throws
  /// InternalError when the step before lacks operations.
  void begin_step();
  /// How many operations of the step have been pushed: the number of the next.
  std::size_t pushed() const { return pushed_; }
  /// Whether Ops have the next operation, and it would wait for no variable.
  bool next_is_free() const;
  /// Pushes the next operation, which Ops have. Throws InternalError when it has another label
  /// there.
  OperationId push(std::uint32_t label);
  /// Ends a running operation that has no duration.
  void finish(OperationId operation);

  static std::uint32_t number_of(OperationId operation) { return operation % kOneStep; }
  std::uint32_t label(OperationId operation) const {
    return ops_.operation(number_of(operation)).label;
  }
  std::int64_t step(OperationId operation) const {
    return step_ - (static_cast<std::uint32_t>(step_) - operation / kOneStep) % kSteps;
  }
  /// The variable whose grant made the operation ready; Ops::kPushed when nothing held it up.
  Variable last_granted(OperationId operation) const { return last_granted_[place(operation)]; }
  /// Operations that have not ended.
  std::size_t pending() const { return pending_; }

  // What an operation waits for; linear in the number of operations.
  /// In the order of the pushes.
  std::vector<OperationId> all_pending() const;
  State state(OperationId operation) const {
    return static_cast<State>(progress_[place(operation)] & 3);
  }
  /// The operations that hold variables which a blocked one waits for.
  std::vector<OperationId> blockers(OperationId operation) const;
  /// The operations on the threads that a queued one waits for.
  std::vector<OperationId> on_threads_of(OperationId operation) const;

 private:
  using UseId = Ops::UseId;
  using Use = Ops::Use;
  /// Of an operation: its missing grants above its state.
  using Progress = std::uint32_t;
  static constexpr Progress kMissing = 4;       ///< one grant
  static constexpr std::uint32_t kSteps = 256;  ///< a step's number is kept modulo this
  static constexpr std::uint32_t kOneStep = Ops::kMostOperations;

  struct VariableState {
    static constexpr std::uint32_t kWrite = kSteps;
    static constexpr std::uint32_t kRead = 2 * kWrite;  ///< the first of any number of them
    UseId next = 0;                                     ///< to be granted
    /// The step of that, modulo kSteps, and above it what has been granted and has not ended.
    /// Before there is a use, the one to come is that of the second step.
    std::uint32_t granted = 1;

    std::uint32_t step() const { return granted % kSteps; }
    bool allows(const Use& use) const {
      return use.writes ? granted < kWrite : (granted & kWrite) == 0;
    }
    void grant(const Use& use) {
      const std::uint32_t step = (granted + use.next / Ops::kNextStep) % kSteps;
      granted = granted - granted % kSteps + step + (use.writes ? kWrite : kRead);
      next = use.next % Ops::kNextStep;
    }
    void release(const Use& use) { granted -= use.writes ? kWrite : kRead; }
  };
  static OperationId id_of(std::uint32_t number, std::int64_t step) {
    return static_cast<std::uint32_t>(step) % kSteps * kOneStep + number;
  }
  /// Where an operation has its progress, among those of `kept` steps.
  std::size_t place(OperationId operation, std::uint32_t kept) const {
    return std::size_t{operation / kOneStep & (kept - 1)} * in_a_step_ + number_of(operation);
  }
  std::size_t place(OperationId operation) const { return place(operation, steps_kept_); }
  /// visit(operation), of all that have a place, in the order of the pushes.
  template <class Visit>
  void for_all_kept(Visit visit) const;
  void keep_more_steps();
  /// In the first step: all uses that Ops had so far were granted.
  bool is_first_to_come(const VariableState& of) const { return step_ == 0 && of.step() == 1; }
  bool is_free(UseId id) const;
  bool is_pushed(std::uint32_t number, std::uint32_t step) const;
  bool request(UseId id);
  void release(const Use& ended);
  void make_ready(OperationId operation);
  void ask_to_start(Ops::PoolId pool);
  void start_operations();
  void start(Ops::PoolId pool);
  void end(OperationId operation);

  Domain& domain_;
  Listener& listener_;
  const Ops& ops_;
  std::int64_t step_ = -1;
  std::uint32_t pushed_ = 0;  ///< operations of this step that have been pushed
  std::uint32_t pending_ = 0;
  std::uint32_t in_a_step_ = 0;   ///< places
  std::uint32_t steps_kept_ = 1;  ///< a power of two: a place is free when its next step comes
  std::vector<ThreadPool> pools_;
  /// A bit for each pool whose threads have taken operations.
  boost::container::small_vector<std::uint64_t, 1> startable_;
  std::vector<VariableState> variables_;
  std::vector<Progress> progress_;
  bool keeps_grants_;
  std::vector<Variable> last_granted_;
};

}  // namespace steptime
