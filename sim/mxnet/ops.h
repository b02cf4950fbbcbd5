// Ops: what a process pushes into its dependency engine in a step, when every step, and every
// process of a run, pushes the same: which operations in which order, and what each reads and
// writes. It is kept once for all processes, so that an engine of its own (op_engine.h) has a few
// bytes for each operation. A step is all that repeats, be it several steps of a training.
//
// Either all of it is known before the first step, or whoever comes first to an operation adds it.
#pragma once
#include "sim/runtime/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace steptime {

class Ops {
 public:
  using Variable = std::uint32_t;
  using PoolId = std::uint32_t;
  /// In place of a variable that held an operation up: none did.
  static constexpr Variable kPushed = std::numeric_limits<Variable>::max();
  /// Among all uses of a step, in the order of the pushes.
  using UseId = std::uint32_t;

  struct Operation {
    std::uint32_t label = 0;    ///< the caller's
    std::int32_t priority = 0;  ///< higher runs first; 0 in a pool without priorities
    PoolId pool = 0;
    UseId first_use = 0;
    std::uint32_t uses = 0;
  };
  /// A request of an operation for a variable.
  struct Use {
    Variable variable = 0;
    std::uint32_t operation = 0;
    /// Of this variable; after the last one the first of the next step, with kNextStep. A step that
    /// is not complete may add more.
    UseId next = 0;
    bool writes = false;
  };
  static constexpr UseId kNextStep = 1U << 31;
  static constexpr std::size_t kMostOperations = std::size_t{1} << 24;
  struct Pool {
    std::int64_t threads = 0;
    PoolOrder order = PoolOrder::kFifo;
  };

  Variable add_variable();
  PoolId add_pool(std::int64_t threads, PoolOrder order);
  /// Throws InternalError when a variable is named twice, be it to read or to write.
  void add(std::uint32_t label, PoolId pool, std::int32_t priority, std::span<const Variable> reads,
           std::span<const Variable> writes);

  const std::vector<Pool>& pools() const { return pools_; }
  std::size_t variables() const { return last_.size(); }
  /// In the order of the pushes.
  std::size_t operations() const { return operations_.size(); }
  const Operation& operation(std::size_t number) const { return operations_[number]; }
  const Use& use(UseId id) const { return uses_[id]; }
  std::span<const Use> uses(const Operation& of) const {
    return std::span(uses_).subspan(of.first_use, of.uses);
  }

 private:
  static constexpr UseId kNoUse = std::numeric_limits<UseId>::max();

  std::vector<Pool> pools_;
  std::vector<Operation> operations_;
  std::vector<Use> uses_;
  std::vector<UseId> last_;  ///< by variable
};

}  // namespace steptime
