// The one process of a node: its main thread pushes what NodeOps says, period after period, and its
// dependency engine plays that on the GPUs, the host and the links of the node.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/mxnet/node_ops.h"
#include "sim/mxnet/op_engine.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

class NodeRank final : private OpEngine::Listener, private MessageSink {
 public:
  using OperationId = OpEngine::OperationId;
  /// Hears of all operations.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void started(OperationId operation) = 0;
    virtual void ended(OperationId operation) = 0;
  };

  /// `observer` may be null; all must outlive the process.
  NodeRank(World& world, NodeOps& ops, Observer* observer = nullptr);

  // Of the main thread.

  /// Having pushed all of the period before.
  void begin_period() {
    engine_.begin_step();
    pushed_calls_ = 0;
    ops_.begin_period();
  }
  /// Awaited: what say() says, pushed one after another; which is asked in the first period.
  template <class Say>
  Task push(Say say) {
    if (pushed_calls_ == call_ends_.size()) {
      say();
      call_ends_.push_back(ops_.operations());
    }
    const std::size_t end = call_ends_[pushed_calls_++];
    while (engine_.pushed() < end) {
      if (const Duration call = ops_.operation(engine_.pushed()).call; call != Duration{})
        co_await world_.pause(call, {});
      engine_.push(ops_.ops().operation(engine_.pushed()).label);
    }
  }
  /// Awaited: the last wait that was pushed is over.
  Counter::Wait waited() { return waits_over_.at_least(++waits_pushed_); }

  const NodeOps& ops() const { return ops_; }
  const NodeOps::Operation& operation(OperationId id) const {
    return ops_.operation(OpEngine::number_of(id));
  }
  /// In which it was pushed.
  std::int64_t step(OperationId id) const {
    return engine_.step(id) * ops_.steps() + operation(id).step;
  }
  /// Whose step is a period.
  const OpEngine& engine() const { return engine_; }
  /// What the main thread pushes next has been said, and waits for nothing else.
  bool next_is_free() const {
    return engine_.pushed() < ops_.operations() && engine_.next_is_free();
  }
  /// Operations that have been pushed and have not ended.
  std::size_t pending() const { return engine_.pending(); }
  /// When the last operation ended.
  Time end() const { return end_; }
  /// What its links have carried so far, for one of so many steps.
  std::vector<LinkUse> links(double steps) const;

 private:
  Endpoint endpoint(std::int32_t gpu) const { return gpu == NodeOps::kHost ? ops_.gpus() : gpu; }
  std::optional<Duration> started(OperationId id) override;
  void ended(OperationId id) override;
  void delivered(const Message& message) override;

  World& world_;
  NodeOps& ops_;
  Observer* observer_;
  Machine machine_;
  Network& network_;
  Domain domain_;
  OpEngine engine_;
  std::vector<std::size_t> call_ends_;  ///< operations up to the end of each push() of a period
  std::size_t pushed_calls_ = 0;        ///< how many of them this period has pushed
  Counter waits_over_;
  std::int64_t waits_pushed_ = 0;
  std::vector<Time> kernel_ends_;
  Time stream_free_{};
  Time end_{};
};

}  // namespace steptime
