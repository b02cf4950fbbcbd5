#include "sim/mxnet/node_rank.h"

#include <algorithm>

namespace steptime {

NodeRank::NodeRank(World& world, NodeOps& ops, Observer* observer)
    : world_(world),
      ops_(ops),
      observer_(observer),
      machine_(ops.cluster(), {.hosts = ops.costs().uses_host}),
      network_(world.connect(machine_, ops.cluster().messages)),
      domain_(world.engine, false),
      engine_(domain_, *this, ops.ops(), observer != nullptr),
      waits_over_(world, {"waits of the main thread"}) {}

std::vector<LinkUse> NodeRank::links(double steps) const {
  return link_uses(ops_.cluster(), machine_, network_,
                   {to_seconds(since_start(end_)), steps, ops_.costs().uses_host});
}

std::optional<Duration> NodeRank::started(OperationId id) {
  if (observer_ != nullptr) observer_->started(id);
  const NodeOps::Operation& of = operation(id);
  const NodeOps::Costs& costs = ops_.costs();
  if (of.kind == NodeOps::Kind::kStream)
    return std::max(Duration{}, kernel_ends_[of.kernel] - world_.now());
  if (of.kind == NodeOps::Kind::kCompute && costs.variation.any())
    return scaled(of.length, costs.variation.factor(costs.seed, of.gpu, step(id)));
  if (of.kind != NodeOps::Kind::kCopy || of.gpu == of.to) return of.length;
  world_.engine.after(costs.gpu_operation, Phase::kNormal, [this, id] {
    const NodeOps::Operation& copy = operation(id);
    network_.send({.sink = this,
                   .from = endpoint(copy.gpu),
                   .to = endpoint(copy.to),
                   .bytes = copy.bytes,
                   .sender = static_cast<std::int32_t>(id)});
  });
  return std::nullopt;
}

void NodeRank::ended(OperationId id) {
  const NodeOps::Operation& of = operation(id);
  end_ = world_.now();
  if (of.kind == NodeOps::Kind::kLaunch) {
    kernel_ends_.resize(std::max(kernel_ends_.size(), of.kernel + 1));
    stream_free_ = std::max(world_.now(), stream_free_) + ops_.kernel_length(of.kernel);
    kernel_ends_[of.kernel] = stream_free_;
  }
  if (observer_ != nullptr) observer_->ended(id);
  if (of.kind == NodeOps::Kind::kWait) waits_over_.add();
}

void NodeRank::delivered(const Message& message) {
  engine_.finish(static_cast<OperationId>(message.sender));
}

}  // namespace steptime
