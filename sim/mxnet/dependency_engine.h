// The dependency engine of MXNet 1.x: operations on variables, executed by pools of threads.
//
// A variable has a FIFO of version blocks. A read is granted iff no write is running or waiting on
// the variable; a write is granted when all earlier reads and writes have ended. An operation is
// ready when all its variables are granted; it then queues for a thread of its pool, and it holds
// its variables until it ends.
//
// Scope: one process. Threads do nothing but run operations; a thread that runs an operation which
// waits (a blocking MPI call) is taken until it ends. Threads take operations once per instant,
// after everything that ends or is pushed at that instant. Operations of one pool start by falling
// priority (in a FIFO pool all are equal), then in the order in which they became ready: MXNet's
// own order between equal priorities is that of a binary heap, which is not stable.
// Validation: tests/sim/mxnet/engine_cases.json.
// Source: apache/mxnet 1.3.1 src/engine/threaded_engine.{h,cc}, threaded_engine_perdevice.cc.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

enum class PoolOrder : std::uint8_t { kPriority, kFifo };

class DependencyEngine {
 public:
  using Variable = std::uint32_t;
  using Pool = std::uint32_t;
  /// Names an operation until it ends; then the number is used again.
  using OperationId = std::uint32_t;
  static constexpr Variable kPushed = std::numeric_limits<Variable>::max();

  /// Is told what happens. May push operations.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// A thread has taken the operation.
    virtual void started(OperationId operation, std::uint64_t tag) = 0;
    /// The operation has ended and its variables are released.
    virtual void ended(OperationId operation, std::uint64_t tag) = 0;
  };

  struct Operation {
    Pool pool = 0;
    std::int32_t priority = 0;           ///< higher runs first, in a pool of that order
    std::uint64_t tag = 0;               ///< the caller's
    std::optional<Duration> duration{};  ///< none: it ends when the caller says so
  };

  DependencyEngine(Engine& clock, Listener& listener) : clock_(clock), listener_(listener) {}

  Variable add_variable();
  Pool add_pool(std::int64_t threads, PoolOrder order);

  /// Throws InternalError when a variable is named twice, be it to read or to write.
  OperationId push(const Operation& operation, std::span<const Variable> reads,
                   std::span<const Variable> writes);
  /// Ends a running operation that has no duration.
  void finish(OperationId operation);

  /// The variable whose grant made the operation ready; kPushed when nothing held it up.
  Variable last_granted(OperationId operation) const { return slots_[operation].last_granted; }
  /// Operations that have not ended.
  std::size_t pending() const { return pending_; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr Duration kOpenEnd{-1};  ///< the caller says when it ends

  /// A request of an operation for a variable. While it waits it is linked into the variable's
  /// queue. The first kInline uses of an operation lie in its slot, the others in more_.
  using UseId = std::uint32_t;
  struct Use {
    std::uint32_t what;  ///< 2 x variable, plus one for a write
    UseId next;
    Variable variable() const { return what >> 1; }
    bool writes() const { return (what & 1) != 0; }
  };
  struct FurtherUse {
    Use use;
    OperationId operation;
    std::uint32_t sibling;  ///< the operation's next one, or the next free one
  };
  static constexpr std::size_t kInline = 3;
  static constexpr UseId kFurther = 1U << 31;

  /// One cache line.
  struct alignas(64) Slot {
    std::uint64_t tag = 0;
    Duration duration = kOpenEnd;
    Variable last_granted = kPushed;
    std::int32_t priority = 0;
    std::uint32_t missing = 0;  ///< grants, and one for the push itself
    bool is_running = false;
    std::uint8_t inline_uses = 0;
    std::uint16_t pool = 0;
    std::uint32_t further = kNone;
    Use uses[kInline];
  };
  static_assert(sizeof(Slot) == 64);
  struct VariableState {
    UseId first = kNone;  ///< of the waiting uses
    UseId last = kNone;
    std::uint32_t reading = 0;  ///< granted reads that have not ended
    bool writing = false;
  };
  struct Ready {
    std::int32_t priority;
    std::uint64_t order;
    OperationId operation;
    /// "Starts later", for a heap whose top starts first.
    bool operator<(const Ready& other) const {
      return priority != other.priority ? priority < other.priority : order > other.order;
    }
  };
  struct PoolState {
    std::int64_t idle_threads;
    PoolOrder order;
    std::vector<Ready> queue;  ///< a heap
  };

  void check_names(std::span<const Variable> reads, std::span<const Variable> writes);
  OperationId take_slot();
  std::uint32_t add_further(OperationId operation, Use use, std::uint32_t last);
  void free_further(const Slot& slot);
  Use& use(UseId id) {
    return (id & kFurther) != 0 ? more_[id & ~kFurther].use : slots_[id >> 2].uses[id & 3];
  }
  OperationId user(UseId id) const {
    return (id & kFurther) != 0 ? more_[id & ~kFurther].operation : id >> 2;
  }
  /// Calls visit(Use) for each use of the operation, in the order of the push.
  template <class Visit>
  void visit_uses(const Slot& slot, Visit visit) const {
    for (std::size_t i = 0; i < slot.inline_uses; ++i)
      visit(slot.uses[i]);
    for (std::uint32_t i = slot.further; i != kNone; i = more_[i].sibling)
      visit(more_[i].use);
  }
  void request(UseId id);
  void release(Use ended);
  void grant(OperationId operation, Variable variable);
  void make_ready(OperationId operation);
  void start_operations();
  void end(OperationId operation);

  Engine& clock_;
  Listener& listener_;
  std::vector<VariableState> variables_;
  std::vector<PoolState> pools_;
  std::vector<Slot> slots_;
  std::vector<OperationId> free_slots_;
  std::vector<FurtherUse> more_;
  std::uint32_t free_further_ = kNone;
  std::vector<std::uint64_t> named_by_;  ///< by variable: the last large push that named it
  std::uint64_t pushes_ = 0;
  std::uint64_t ready_ = 0;
  std::size_t pending_ = 0;
  bool start_is_due_ = false;
};

}  // namespace steptime
