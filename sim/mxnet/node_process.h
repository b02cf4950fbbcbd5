// The one process of MXNet that drives all GPUs of a node. Its main thread says, when it first
// pushes them, which operations it pushes in a period of one step or several: those that a kvstore
// consists of, and what the GPUs compute. They are the same in every period. Its dependency engine,
// with the pools of every GPU, plays them on the GPUs, the host and the links of the node.
//
//   copy      takes a thread of the source GPU's copy queue (by priority), or of the target's where
//             it comes from the host; its bytes travel over the links, or through the GPU's memory
//             where it copies to itself
//   sum       takes a thread of the GPU that adds up, in the order of readiness whatever the key's
//             priority, or one of the CPU's by priority. On a GPU a sum of up to four arrays is one
//             kernel, which reads them all and writes one; a longer one copies the first and adds
//             the others in place, three accesses of the memory each
//   kernel    of NCCL, on all GPUs: launched under one mutex, after which an operation of the CPU's
//             waits for it; kernels follow one another on one stream
//   compute   a segment of a GPU's forward or backward pass; a GPU's segments follow one another
//   request   of the host to servers, through a thread of the CPU's that is free at once
//   wait      of the main thread, on a thread of the CPU's
//
// An operation holds its thread until the GPU is done, and takes `gpu_operation` besides its bytes.
// The main thread needs `engine_push` for each.
//
// Every key has a gradient and a weight on each GPU; whoever merges adds buffers of its own.
// Scope: the pools have MXNet's default threads where nothing is said. Sums and copies do not slow
// down what a GPU computes meanwhile.
// Source: apache/mxnet 1.3.1 src/ndarray/ndarray.cc (CopyFromTo, ElementwiseSum), src/ndarray/
// ndarray_function-inl.h, src/engine/threaded_engine_perdevice.cc, src/kvstore/kvstore_nccl.h.
#pragma once
#include "sim/mxnet/engine_reasons.h"
#include "sim/mxnet/op_engine.h"
#include "sim/mxnet/ops.h"
#include "sim/network/cluster.h"
#include "sim/network/network.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"
#include "sim/servers/servers.h"
#include "sim/workload/variation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace steptime {

class Updater;

class NodeProcess : private OpEngine::Listener, private MessageSink, private Client {
 public:
  using OperationId = OpEngine::OperationId;
  using Variable = Ops::Variable;
  using Variables = std::vector<Variable>;
  /// In place of a GPU: the host memory of the node.
  static constexpr std::int32_t kHost = -1;

  /// Which node it is, and the network that its copies go over: one of endpoints that are the GPUs
  /// of all nodes, and behind these their hosts, where sums may be in host memory.
  struct Place {
    Network& network;
    std::int64_t node = 0;
  };

  struct Costs {
    Duration engine_push{};
    Duration gpu_operation{};
    std::int64_t copy_threads = 2;  ///< each GPU has as many: MXNET_GPU_COPY_NTHREADS
    std::int64_t cpu_threads = 4;   ///< MXNET_CPU_PRIORITY_NTHREADS
    Duration update{};      ///< what an operation of the optimizer takes, besides gpu_operation
    Variation variation{};  ///< how what the GPUs compute differs
    std::int64_t seed = 1;  ///< what the variation is drawn with
  };

  enum class Kind : std::uint8_t { kCopy, kSum, kLaunch, kStream, kCompute, kUpdate, kAsk, kWait };
  /// What servers do with a bucket of a client, who hears of the end.
  using Request = void (Servers::*)(std::int32_t client, std::int32_t bucket, Client& who);
  struct Operation {
    Kind kind = Kind::kCopy;
    std::int32_t gpu = 0;  ///< whose thread it takes; of a wait 0
    std::int32_t to = 0;   ///< where a copy goes
    std::int64_t bytes = 0;
    Duration launch{};           ///< what a GPU takes to start it; the length begins behind it
    Duration length{};           ///< unless it takes links; where GPUs do not vary
    Reason reason = 0;           ///< why that passes
    std::size_t kernel = 0;      ///< which one a launch, or the wait for it, is about
    Servers* servers = nullptr;  ///< who is asked
    Request request = nullptr;
    std::int32_t bucket = 0;  ///< what they are asked about
    Duration call{};          ///< what the main thread takes until it has pushed this
    std::int64_t step = 0;    ///< the step of the period in which it was said
  };

  /// `keys`: how many. `keeps_grants`: last_granted() is asked for. World, network and updater
  /// must outlive the process.
  NodeProcess(World& world, const Place& place, const Cluster& cluster, const Costs& costs,
              const Updater& updater, std::size_t keys, bool keeps_grants = false);

  // What the main thread says.

  std::int32_t gpus() const { return gpus_; }
  /// What says the rest of a push, and the start of a pull.
  const Updater& updater() const { return updater_; }
  Variable gradient(std::size_t key, std::int32_t gpu) const {
    return first_key_ + static_cast<Variable>(2 * key * static_cast<std::size_t>(gpus_) +
                                              static_cast<std::size_t>(gpu));
  }
  Variable weight(std::size_t key, std::int32_t gpu) const {
    return gradient(key, gpu) + static_cast<Variable>(gpus_);
  }
  /// The key whose weight or gradient this is; none: of neither.
  std::optional<std::int32_t> key_of(Variable variable) const;
  Variable variable() { return ops_.add_variable(); }
  Variables variables(std::size_t count);

  /// Of what is said from now on; returns the one before.
  std::int32_t set_priority(std::int32_t priority) { return std::exchange(priority_, priority); }
  void set_label(std::uint32_t label) { label_ = label; }
  /// Before what is pushed next.
  void call(Duration time) { call_ += time; }

  /// From a GPU or the host to a GPU or the host; not from the host to itself.
  void copy(std::int32_t from, std::int32_t to, std::int64_t bytes, Variable source,
            Variable target);
  /// `arrays` arrays of so many bytes, the targets' own among them.
  void sum(std::int32_t gpu, std::int64_t arrays, std::int64_t bytes, const Variables& sources,
           const Variables& targets);
  /// A kernel of NCCL's, whose launches take so long in all, and the wait for it.
  void kernel(Duration launches, Duration length, const Variables& sources,
              const Variables& targets);
  /// The optimizer's operation, which reads a sum, where that is not updated in place, and writes
  /// the weights.
  void update(std::int32_t gpu, const Variables& sum, Variable weights);
  void compute(std::int32_t gpu, Duration length, Reason pass, const Variables& reads,
               const Variables& writes);
  /// What the host asks servers about a bucket, which is over when they have answered. Only one
  /// request about a bucket is under way.
  void ask(Servers& servers, Request request, std::int32_t bucket, const Variables& reads,
           const Variables& writes);
  void wait(const Variables& reads);
  /// How many were said.
  std::size_t operations() const { return operations_.size(); }

  // What it does.

  /// Having pushed all of the period before.
  void begin_period();
  /// The next step of the period.
  void begin_step() { steps_ = std::max(steps_, ++step_ + 1); }
  /// Awaited: what say() says, pushed one after another; which is asked in the first period.
  template <class Say>
  Task push(Say say) {
    if (pushed_calls_ == call_ends_.size()) {
      say();
      call_ends_.push_back(operations());
    }
    const std::size_t end = call_ends_[pushed_calls_++];
    while (engine_.pushed() < end) {
      const Time since = world_.now();
      if (const Duration call = operations_[engine_.pushed()].call; call != Duration{})
        co_await world_.at(pushed_at(call));
      has_pushed(engine_.push(ops_.operation(engine_.pushed()).label), since);
    }
  }
  /// Awaited: the last wait that was pushed is over.
  Counter::Wait waited() { return waits_over_.at_least(++waits_pushed_); }

  const Operation& operation(OperationId id) const { return operations_[OpEngine::number_of(id)]; }
  std::uint32_t label(OperationId id) const { return engine_.label(id); }
  /// In which it was pushed.
  std::int64_t step(OperationId id) const { return engine_.step(id) * steps_ + operation(id).step; }
  /// Operations that have been pushed and have not ended.
  std::size_t pending() const { return engine_.pending(); }
  /// When the last operation ended.
  Time end() const { return end_; }

 protected:
  /// What the main thread pushes next has been said, and waits for nothing else.
  bool next_is_free() const { return engine_.next_is_free(); }
  /// The variable that held an operation up last; Ops::kPushed: none.
  Variable last_granted(OperationId id) const { return engine_.last_granted(id); }
  /// What the main thread has done since then.
  virtual void has_pushed(OperationId /*id*/, Time /*since*/) {}
  virtual void has_started(OperationId /*id*/) {}
  virtual void has_ended(OperationId /*id*/) {}

  World& world_;
  const EngineReasons reasons_;

 private:
  struct Pools {
    Ops::PoolId copies = 0;
    Ops::PoolId kernels = 0;
  };

  const Pools& pools(std::int32_t gpu) const { return pools_[static_cast<std::size_t>(gpu)]; }
  Duration memory_time(std::int64_t bytes) const;
  Duration sum_time(std::int64_t arrays, std::int64_t bytes) const;
  void add(Ops::PoolId pool, Operation operation, const Variables& reads, const Variables& writes);

  /// Of all nodes' GPUs.
  std::int64_t worker(std::int32_t gpu) const { return place_.node * gpus_ + gpu; }
  Endpoint endpoint(std::int32_t gpu) const {
    return static_cast<Endpoint>(gpu == kHost ? cluster_.workers() + place_.node : worker(gpu));
  }
  /// What takes the main thread so long from now on, and ends with a push.
  When pushed_at(Duration call);
  std::optional<When> started(OperationId id) override;
  void send(OperationId id);
  void ended(OperationId id) override;
  void delivered(const Message& message) override;
  void came(std::int32_t bucket, When end) override;

  /// Why the operations of a kvstore take their time.
  struct Reasons {
    explicit Reasons(Engine& clock);
    Reason launches;  ///< what a GPU takes to start an operation
    Reason copies;    ///< inside a GPU
    Reason latency;   ///< a copy to another GPU, before its bytes come
    Reason transfer;  ///< what its bytes take on idle links
    Reason sharing;   ///< what others make of that
    Reason sums;      ///< on a GPU
    Reason host_sums;
    Reason host_updates;
    Reason kernel_launches;
    Reason kernels;  ///< NCCL's
  };

  const Place place_;
  const Cluster cluster_;
  const Costs costs_;
  const Updater& updater_;
  const Reasons why_;
  std::int32_t gpus_;
  std::size_t keys_;
  Ops ops_;
  std::vector<Pools> pools_;
  Ops::PoolId cpu_;
  Ops::PoolId mutex_;
  Ops::PoolId requests_;
  Ops::PoolId waits_;
  Variable first_key_ = 0;
  Duration call_{};
  std::int32_t priority_ = 0;
  std::uint32_t label_ = 0;
  std::int64_t steps_ = 1;  ///< how many a period has
  std::int64_t step_ = 0;   ///< in the period
  std::vector<Operation> operations_;
  std::vector<Duration> kernels_;       ///< how long each takes
  std::vector<std::size_t> call_ends_;  ///< operations up to the end of each push() of a period
  std::size_t pushed_calls_ = 0;        ///< how many of them this period has pushed

  Domain domain_;
  OpEngine engine_;
  Counter waits_over_;
  std::int64_t waits_pushed_ = 0;
  std::vector<When> kernel_ends_;
  When stream_free_{};
  /// By operation, what led to the message that a copy is; none without causes.
  std::unordered_map<OperationId, Held> sent_;
  std::unordered_map<std::int32_t, OperationId> asked_;  ///< by bucket, of what is under way
  Time end_{};
};

}  // namespace steptime
