// The dependency engine of one rank, for a program that pushes the same operations in every step:
// the rules of DependencyEngine (dependency_engine.h), which is its oracle, with what is the same
// in every step and at every rank in a StepShape. Of an operation a rank has its missing grants, of
// a variable the use that is to be granted next: who waits for it follows from the shape and from
// how far the program has come. With many ranks, what a run spends its time on is reading their
// state.
//
// Scope: an operation ends before the program pushes it in the next but one step.
#pragma once
#include "sim/core/units.h"
#include "sim/events/run_ahead.h"
#include "sim/mxnet/step_shape.h"
#include "sim/mxnet/thread_pool.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

class StepEngine {
 public:
  using Variable = StepShape::Variable;
  /// Its number in the step, and above it whether the step is odd.
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
    /// A thread has taken the operation. Returns how long it takes; none: it ends when the caller
    /// says so.
    virtual std::optional<Duration> started(OperationId operation) = 0;
    /// The operation has ended and its variables are released.
    virtual void ended(OperationId operation) = 0;
  };

  /// The shape has its pools and variables. `keeps_grants`: last_granted() is asked for.
  StepEngine(Domain& domain, Listener& listener, const StepShape& shape, bool keeps_grants);

  /// Of the program. Throws InternalError when the step before lacks operations of the shape.
  void begin_step();
  /// How many operations of the step have been pushed: the number of the next.
  std::size_t pushed() const { return pushed_; }
  /// Pushes the next operation, which the shape has. Throws InternalError when it has another
  /// label there.
  OperationId push(std::uint32_t label);
  /// Ends a running operation that has no duration.
  void finish(OperationId operation);

  std::uint32_t label(OperationId operation) const {
    return shape_.operation(number_of(operation)).label;
  }
  std::int64_t step(OperationId operation) const { return step_ - ((step_ ^ operation >> 31) & 1); }
  /// The variable whose grant made the operation ready; StepShape::kPushed when nothing held it up.
  Variable last_granted(OperationId operation) const {
    return last_granted_[operation >> 31][number_of(operation)];
  }
  /// Operations that have not ended.
  std::size_t pending() const { return pending_; }

  // What an operation waits for; linear in the number of operations.
  /// In the order of the pushes.
  std::vector<OperationId> all_pending() const;
  State state(OperationId operation) const {
    return static_cast<State>(progress_[operation >> 31][number_of(operation)] & 3);
  }
  /// The operations that hold variables which a blocked one waits for.
  std::vector<OperationId> blockers(OperationId operation) const;
  /// The operations on the threads that a queued one waits for.
  std::vector<OperationId> on_threads_of(OperationId operation) const;

 private:
  using UseId = StepShape::UseId;
  using Use = StepShape::Use;
  /// Of an operation: its missing grants, and one for the push itself, above its state.
  using Progress = std::uint32_t;
  static constexpr Progress kMissing = 4;  ///< one grant

  struct VariableState {
    static constexpr std::uint32_t kWrite = 4;
    static constexpr std::uint32_t kRead = 8;  ///< the first of any number of them
    UseId next = 0;                            ///< to be granted
    /// The step of that, modulo 4, and above it what has been granted and has not ended. Before
    /// there is a use, the one to come is that of the second step.
    std::uint32_t granted = 1;

    std::uint32_t step() const { return granted & 3; }
    bool allows(const Use& use) const {
      return use.writes ? granted < kWrite : (granted & kWrite) == 0;
    }
    void grant(const Use& use) {
      const std::uint32_t step = (granted + use.next / StepShape::kNextStep) & 3;
      granted = ((granted & ~3U) | step) + (use.writes ? kWrite : kRead);
      next = use.next % StepShape::kNextStep;
    }
    void release(const Use& use) { granted -= use.writes ? kWrite : kRead; }
  };
  static std::uint32_t number_of(OperationId operation) { return operation & ~(1U << 31); }
  Progress& progress(OperationId operation) {
    return progress_[operation >> 31][number_of(operation)];
  }
  bool is_pushed(std::uint32_t number, std::uint32_t step) const;
  bool request(UseId id);
  void release(const Use& ended);
  void make_ready(OperationId operation);
  void ask_to_start(StepShape::Pool pool);
  void start_operations();
  void end(OperationId operation);

  Domain& domain_;
  Listener& listener_;
  const StepShape& shape_;
  std::int64_t step_ = -1;
  std::uint32_t pushed_ = 0;  ///< of this step
  std::uint32_t pending_ = 0;
  std::uint32_t startable_ = 0;  ///< a bit for each pool whose threads have taken operations
  std::vector<ThreadPool> pools_;
  std::vector<VariableState> variables_;
  std::array<std::vector<Progress>, 2> progress_;  ///< by whether the step is odd
  bool keeps_grants_;
  std::array<std::vector<Variable>, 2> last_granted_;
};

}  // namespace steptime
