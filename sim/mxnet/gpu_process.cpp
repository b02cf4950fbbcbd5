#include "sim/mxnet/gpu_process.h"

#include "sim/collective/collective_player.h"

#include <algorithm>
#include <utility>

namespace steptime {

GpuProcess::GpuProcess(Engine& clock, const Cluster& cluster, const Costs& costs, std::size_t keys,
                       Observer* observer)
    : clock_(clock),
      cluster_(cluster),
      costs_(costs),
      observer_(observer),
      gpus_(static_cast<std::int32_t>(cluster.gpus_per_node)),
      keys_(keys),
      machine_(cluster_, {.hosts = costs.uses_host}),
      network_(clock, machine_, cluster_.messages),
      engine_(clock, *this) {
  for (std::int32_t gpu = 0; gpu < gpus_; ++gpu) {
    pools_.push_back({engine_.add_pool(costs_.copy_threads, PoolOrder::kPriority),
                      engine_.add_pool(2, PoolOrder::kFifo)});
  }
  cpu_ = engine_.add_pool(costs_.cpu_threads, PoolOrder::kPriority);
  mutex_ = engine_.add_pool(1, PoolOrder::kPriority);
  waits_ = engine_.add_pool(1, PoolOrder::kFifo);
  const Variables of_keys = variables(2 * keys * static_cast<std::size_t>(gpus_));
  if (!of_keys.empty()) first_key_ = of_keys.front();
}

GpuProcess::Variables GpuProcess::variables(std::size_t count) {
  Variables all(count);
  std::generate(all.begin(), all.end(), [this] { return variable(); });
  return all;
}

std::size_t GpuProcess::key_of(Variable variable) const {
  const auto each = static_cast<Variable>(2 * gpus_);
  const auto count = static_cast<Variable>(keys_) * each;
  if (variable < first_key_ || variable - first_key_ >= count) return keys_;
  return (variable - first_key_) / each;
}

Duration GpuProcess::memory_time(std::int64_t bytes) const {
  // The cluster's `reduction` is for three accesses: two reads and a write.
  return reduction_time(bytes, {cluster_.reduction.seconds_per_byte / 3});
}

Duration GpuProcess::sum_time(std::int64_t arrays, std::int64_t bytes) const {
  constexpr std::int64_t kMostInOneKernel = 4;
  const std::int64_t accesses = arrays <= kMostInOneKernel ? arrays + 1 : 2 + 3 * (arrays - 1);
  return memory_time(accesses * bytes);
}

void GpuProcess::copy(std::int32_t from, std::int32_t to, std::int64_t bytes, Variable source,
                      Variable target) {
  push(pools(from == kHost ? to : from).copies,
       {.kind = Kind::kCopy, .gpu = from, .to = to, .bytes = bytes}, {source}, {target});
}

void GpuProcess::sum(std::int32_t gpu, std::int64_t arrays, std::int64_t bytes, Variables sources,
                     Variables targets) {
  Operation operation{.kind = Kind::kSum, .gpu = gpu, .bytes = bytes};
  if (gpu == kHost) {
    operation.length = (arrays - 1) * reduction_time(bytes, cluster_.reduction);
    return push(cpu_, operation, std::move(sources), std::move(targets));
  }
  operation.length = costs_.gpu_operation + sum_time(arrays, bytes);
  push(pools(gpu).kernels, operation, std::move(sources), std::move(targets));
}

void GpuProcess::kernel(Duration launches, Duration length, const Variables& sources,
                        const Variables& targets) {
  kernels_.push_back({length, {}});
  const std::size_t kernel = kernels_.size() - 1;
  push(mutex_, {.kind = Kind::kLaunch, .length = launches, .kernel = kernel}, sources, targets);
  push(cpu_, {.kind = Kind::kStream, .kernel = kernel}, {}, targets);
}

void GpuProcess::update(std::int32_t gpu, Variables sum, Variable weights) {
  if (!costs_.updates) return;
  Operation operation{.kind = Kind::kUpdate, .gpu = gpu, .length = costs_.update};
  if (gpu == kHost) return push(cpu_, operation, std::move(sum), {weights});
  operation.length += costs_.gpu_operation;
  push(pools(gpu).kernels, operation, std::move(sum), {weights});
}

void GpuProcess::compute(std::int32_t gpu, Duration length, Variables reads, Variables writes) {
  push(pools(gpu).kernels, {.kind = Kind::kCompute, .gpu = gpu, .length = length}, std::move(reads),
       std::move(writes));
}

void GpuProcess::wait(Variables reads) {
  push(waits_, {.kind = Kind::kWait}, std::move(reads), {});
}

std::vector<LinkUse> GpuProcess::links(double steps) const {
  return link_uses(cluster_, machine_, network_,
                   {to_seconds(since_start(end_)), steps, costs_.uses_host});
}

void GpuProcess::push(DependencyEngine::Pool pool, const Operation& operation, Variables reads,
                      Variables writes) {
  call(costs_.engine_push);
  if (free_.empty()) {
    free_.push_back(operations_.size());
    operations_.emplace_back();
  }
  const std::uint64_t tag = free_.back();
  free_.pop_back();
  operations_[tag] = {
      operation, 0, {pool, priority_, tag, std::nullopt}, std::move(reads), std::move(writes)};
  operations_[tag].operation.label = label_;
  clock_.at(main_thread_, Phase::kNormal, [this, tag] {
    const Slot& slot = operations_[tag];
    engine_.push(slot.push, slot.reads, slot.writes);
  });
}

void GpuProcess::end_at(Time time, std::uint64_t tag) {
  clock_.at(time, Phase::kComplete, [this, tag] { engine_.finish(operations_[tag].id); });
}

void GpuProcess::started(DependencyEngine::OperationId id, std::uint64_t tag) {
  Slot& slot = operations_[tag];
  Operation& operation = slot.operation;
  slot.id = id;
  operation.started = clock_.now();
  operation.waited_for = engine_.last_granted(id);
  if (observer_ != nullptr) observer_->started(operation);
  if (operation.kind == Kind::kStream)
    return end_at(std::max(clock_.now(), kernels_[operation.kernel].end), tag);
  if (operation.kind != Kind::kCopy) return end_at(clock_.now() + operation.length, tag);
  if (operation.gpu == operation.to) {
    return end_at(clock_.now() + costs_.gpu_operation + memory_time(2 * operation.bytes), tag);
  }
  clock_.after(costs_.gpu_operation, Phase::kNormal, [this, tag] {
    const Operation& copy = operations_[tag].operation;
    network_.send({.sink = this,
                   .from = endpoint(copy.gpu),
                   .to = endpoint(copy.to),
                   .bytes = copy.bytes,
                   .sender = static_cast<std::int32_t>(tag)});
  });
}

void GpuProcess::ended(DependencyEngine::OperationId, std::uint64_t tag) {
  const Operation operation = operations_[tag].operation;
  free_.push_back(tag);
  end_ = clock_.now();
  if (operation.kind == Kind::kLaunch) {
    Kernel& kernel = kernels_[operation.kernel];
    stream_free_ = kernel.end = std::max(clock_.now(), stream_free_) + kernel.length;
  }
  if (observer_ != nullptr) observer_->ended(operation);
}

void GpuProcess::delivered(const Message& message) {
  engine_.finish(operations_[static_cast<std::size_t>(message.sender)].id);
}

}  // namespace steptime
