// The dependency engine of MXNet 1.x: operations on variables, executed by pools of threads.
//
// A variable has a FIFO of version blocks. A read is granted iff no write is running or waiting on
// the variable; a write is granted when all earlier reads and writes have ended. An operation is
// ready when all its variables are granted; it then queues for a thread of its pool, and it holds
// its variables until it ends.
//
// Scope: one process. Threads do nothing but run operations; a thread that runs an operation which
// waits (a blocking MPI call) is taken until it ends. In which order threads take operations is in
// thread_pool.h; the listener hears of those that were taken once per instant, after everything
// that ends or is pushed at that instant.
// Validation: tests/sim/mxnet/engine_cases.json.
// Source: apache/mxnet 1.3.1 src/engine/threaded_engine.{h,cc}, threaded_engine_perdevice.cc.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/mxnet/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>

namespace steptime {

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
  /// A request of an operation for a variable.
  struct Use {
    OperationId operation;
    Variable variable;
    bool writes;
  };
  struct Slot {
    Operation operation{};
    std::uint32_t missing = 0;  ///< grants
    Variable last_granted = kPushed;
    bool is_running = false;
    boost::container::small_vector<Use, 3> uses{};  ///< in the order of the push
  };
  struct VariableState {
    std::uint64_t named_by = 0;  ///< the latest push that did
    std::uint32_t reading = 0;   ///< granted reads that have not ended
    bool writing = false;
    /// Few, mostly: it is to be small more than quick to pop.
    boost::container::small_vector<Use, 2> waiting{};

    bool allows(const Use& use) const { return !writing && (!use.writes || reading == 0); }
    void grant(const Use& use) {
      if (use.writes)
        writing = true;
      else
        ++reading;
    }
  };
  OperationId free_slot();
  void request(const Use& use);
  void release(const Use& ended);
  void make_ready(OperationId operation);
  void ask_to_start();
  void start_operations();
  void end(OperationId operation);

  Engine& clock_;
  Listener& listener_;
  std::vector<VariableState> variables_;
  std::vector<ThreadPool> pools_;
  std::vector<Slot> slots_;  ///< by operation
  std::vector<OperationId> free_slots_;
  std::uint64_t pushes_ = 0;
  std::size_t pending_ = 0;
  bool start_is_due_ = false;
};

}  // namespace steptime
