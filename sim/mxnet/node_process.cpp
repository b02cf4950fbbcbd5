#include "sim/mxnet/node_process.h"

#include "sim/collective/collective_player.h"
#include "sim/collective/stage_reasons.h"

#include <utility>

namespace steptime {

NodeProcess::NodeProcess(World& world, const Place& place, const Cluster& cluster,
                         const Costs& costs, const Updater& updater, std::size_t keys,
                         bool keeps_grants)
    : world_(world),
      reasons_(world.engine),
      place_(place),
      cluster_(cluster),
      costs_(costs),
      updater_(updater),
      why_(world.engine),
      gpus_(static_cast<std::int32_t>(cluster.gpus_per_node)),
      keys_(keys),
      domain_(world.engine, false),
      engine_(domain_, *this, ops_, keeps_grants),
      waits_over_(world, {"waits of the main thread"}) {
  for (std::int32_t gpu = 0; gpu < gpus_; ++gpu) {
    pools_.push_back({ops_.add_pool(costs_.copy_threads, PoolOrder::kPriority),
                      ops_.add_pool(2, PoolOrder::kFifo)});
  }
  cpu_ = ops_.add_pool(costs_.cpu_threads, PoolOrder::kPriority);
  mutex_ = ops_.add_pool(1, PoolOrder::kPriority);
  // Its thread hands a request over and is free: as many are under way as there are.
  requests_ =
      ops_.add_pool(std::max<std::int64_t>(static_cast<std::int64_t>(keys), 1), PoolOrder::kFifo);
  waits_ = ops_.add_pool(1, PoolOrder::kFifo);
  const Variables of_keys = variables(2 * keys * static_cast<std::size_t>(gpus_));
  if (!of_keys.empty()) first_key_ = of_keys.front();
}

NodeProcess::Reasons::Reasons(Engine& clock)
    : launches(clock.reason("launches of copies, sums and updates", "GPU")),
      copies(clock.reason("copies", "GPU memory")),
      latency(clock.reason("latency of copies", StageReasons::kInNodeLinks)),
      transfer(clock.reason("copies", StageReasons::kInNodeLinks)),
      sharing(clock.reason("copies wait or share", StageReasons::kInNodeLinks)),
      sums(clock.reason("sums of gradients", "GPU")),
      host_sums(clock.reason("sums of gradients", "host")),
      host_updates(clock.reason("updates of weights", "host")),
      kernel_launches(clock.reason("launches of NCCL", "host")),
      kernels(clock.reason("collectives", "NCCL kernels")) {}

NodeProcess::Variables NodeProcess::variables(std::size_t count) {
  Variables all(count);
  std::generate(all.begin(), all.end(), [this] { return variable(); });
  return all;
}

std::optional<std::int32_t> NodeProcess::key_of(Variable variable) const {
  const auto each = static_cast<Variable>(2 * gpus_);
  const auto count = static_cast<Variable>(keys_) * each;
  if (variable < first_key_ || variable - first_key_ >= count) return std::nullopt;
  return static_cast<std::int32_t>((variable - first_key_) / each);
}

Duration NodeProcess::memory_time(std::int64_t bytes) const {
  // The cluster's `reduction` is for three accesses: two reads and a write.
  return reduction_time(bytes, {cluster_.reduction.seconds_per_byte / 3});
}

Duration NodeProcess::sum_time(std::int64_t arrays, std::int64_t bytes) const {
  constexpr std::int64_t kMostInOneKernel = 4;
  const std::int64_t accesses = arrays <= kMostInOneKernel ? arrays + 1 : 2 + 3 * (arrays - 1);
  return memory_time(accesses * bytes);
}

void NodeProcess::copy(std::int32_t from, std::int32_t to, std::int64_t bytes, Variable source,
                       Variable target) {
  Operation operation{.kind = Kind::kCopy,
                      .gpu = from,
                      .to = to,
                      .bytes = bytes,
                      .launch = costs_.gpu_operation,
                      .reason = why_.copies};
  if (from == to) operation.length = memory_time(2 * bytes);
  add(pools(from == kHost ? to : from).copies, operation, {source}, {target});
}

void NodeProcess::sum(std::int32_t gpu, std::int64_t arrays, std::int64_t bytes,
                      const Variables& sources, const Variables& targets) {
  Operation operation{.kind = Kind::kSum, .gpu = gpu, .bytes = bytes};
  if (gpu == kHost) {
    operation.length = (arrays - 1) * reduction_time(bytes, cluster_.reduction);
    operation.reason = why_.host_sums;
    return add(cpu_, operation, sources, targets);
  }
  operation.launch = costs_.gpu_operation;
  operation.length = sum_time(arrays, bytes);
  operation.reason = why_.sums;
  add(pools(gpu).kernels, operation, sources, targets);
}

void NodeProcess::kernel(Duration launches, Duration length, const Variables& sources,
                         const Variables& targets) {
  kernels_.push_back(length);
  const std::size_t kernel = kernels_.size() - 1;
  add(mutex_,
      {.kind = Kind::kLaunch, .length = launches, .reason = why_.kernel_launches, .kernel = kernel},
      sources, targets);
  add(cpu_, {.kind = Kind::kStream, .kernel = kernel}, {}, targets);
}

void NodeProcess::update(std::int32_t gpu, const Variables& sum, Variable weights) {
  Operation operation{.kind = Kind::kUpdate, .gpu = gpu, .length = costs_.update};
  operation.reason = gpu == kHost ? why_.host_updates : reasons_.updates;
  if (gpu == kHost) return add(cpu_, operation, sum, {weights});
  operation.launch = costs_.gpu_operation;
  add(pools(gpu).kernels, operation, sum, {weights});
}

void NodeProcess::compute(std::int32_t gpu, Duration length, Reason pass, const Variables& reads,
                          const Variables& writes) {
  add(pools(gpu).kernels, {.kind = Kind::kCompute, .gpu = gpu, .length = length, .reason = pass},
      reads, writes);
}

void NodeProcess::ask(Servers& servers, Request request, std::int32_t bucket,
                      const Variables& reads, const Variables& writes) {
  add(requests_,
      {.kind = Kind::kAsk, .gpu = kHost, .servers = &servers, .request = request, .bucket = bucket},
      reads, writes);
}

void NodeProcess::wait(const Variables& reads) {
  add(waits_, {.kind = Kind::kWait}, reads, {});
}

void NodeProcess::add(Ops::PoolId pool, Operation operation, const Variables& reads,
                      const Variables& writes) {
  operation.call = std::exchange(call_, {}) + costs_.engine_push;
  operation.step = step_;
  ops_.add(label_, pool, priority_, reads, writes);
  operations_.push_back(operation);
}

void NodeProcess::begin_period() {
  engine_.begin_step();
  pushed_calls_ = 0;
  step_ = 0;
}

When NodeProcess::pushed_at(Duration call) {
  const When called = domain_.until(call - costs_.engine_push, reasons_.calls);
  return domain_.until(called, costs_.engine_push, reasons_.pushes);
}

std::optional<When> NodeProcess::started(OperationId id) {
  has_started(id);
  const Operation& of = operation(id);
  if (of.kind == Kind::kStream) return later(world_.present(), kernel_ends_[of.kernel]);
  if (of.kind == Kind::kAsk) {
    asked_[of.bucket] = id;
    (of.servers->*of.request)(static_cast<std::int32_t>(place_.node), of.bucket, *this);
    return std::nullopt;
  }
  const When launched = domain_.until(of.launch, why_.launches);
  if (of.kind == Kind::kCopy && of.gpu != of.to) {
    world_.engine.at(launched, Phase::kNormal, [this, id] { send(id); });
    return std::nullopt;
  }
  Duration time = of.length;
  if (of.kind == Kind::kCompute && costs_.variation.any())
    time = scaled(of.length, costs_.variation.factor(costs_.seed, worker(of.gpu), step(id)));
  const Duration usual = std::min(time, of.length);
  return domain_.until(domain_.until(launched, usual, of.reason), time - usual, reasons_.slower);
}

void NodeProcess::send(OperationId id) {
  if (domain_.keeps_causes()) sent_[id] = world_.engine.hold(world_.present());
  const Operation& copy = operation(id);
  place_.network.send({.sink = this,
                       .from = endpoint(copy.gpu),
                       .to = endpoint(copy.to),
                       .bytes = copy.bytes,
                       .sender = static_cast<std::int32_t>(id)});
}

void NodeProcess::ended(OperationId id) {
  const Operation& of = operation(id);
  end_ = world_.now();
  if (of.kind == Kind::kLaunch) {
    kernel_ends_.resize(std::max(kernel_ends_.size(), of.kernel + 1));
    stream_free_ =
        domain_.until(later(world_.present(), stream_free_), kernels_[of.kernel], why_.kernels);
    kernel_ends_[of.kernel] = stream_free_;
  }
  has_ended(id);
  if (of.kind == Kind::kWait) waits_over_.add();
}

void NodeProcess::delivered(const Message& message) {
  const auto id = static_cast<OperationId>(message.sender);
  if (domain_.keeps_causes()) {
    Engine& clock = world_.engine;
    const Network::Alone alone = place_.network.alone();
    clock.because(clock.until(
        clock.release(sent_.extract(id).mapped()), clock.now(),
        Stretches{{why_.latency, alone.latency}, {why_.transfer, alone.transfer}, why_.sharing}));
  }
  engine_.finish(id);
}

void NodeProcess::came(std::int32_t bucket, When end) {
  const OperationId id = asked_.extract(bucket).mapped();
  world_.engine.at(later(world_.present(), end), Phase::kNormal,
                   [this, id] { engine_.finish(id); });
}

}  // namespace steptime
