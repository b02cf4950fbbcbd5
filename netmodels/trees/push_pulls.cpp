// Push-pulls: MXNet's kvstore pushes and pulls `keys` arrays of equal size, or the tensors of a
// `model`, one after the other without a wait between them, and then waits for all. It is the
// benchmark of proposal 003, Figures 2 and 7, for M bytes in all. Operations per key, by `merge`,
// for N GPUs:
//
//   device   N copies to the GPU that merges the key, a sum of N there, N copies from it; the
//            largest key first, each on the GPU with the fewest bytes so far
//   tree     N copies of a GPU to itself, N - 1 up the tree of GPU 0, each with a sum of two, one
//            at the root and N - 1 down; an array beyond array_bound the same for each of N slices
//            and trees, then N copies to itself on each GPU, one after the other
//   nccl     for each call: a reduction to GPU 0 and a broadcast, each launched on all GPUs under
//            one mutex and followed by an operation that waits for its stream
//
// The main thread takes `python_call` for each push and each pull and `engine_push` for each
// operation. Copies take a thread of the source's copy queue (2, by priority), sums one of the GPU
// that adds up (2), NCCL's operations one of the CPU's (4, by priority); each has its thread until
// the GPU is done. An operation on a GPU takes `gpu_operation` besides its bytes, which travel over
// the links of the node, or through the GPU's memory: a copy to itself reads and writes, a sum of k
// reads k and writes one, where `reduction` of the cluster is for three of these.
//
// Scope: one node of 2 to 16 GPUs; gradients are there from the start, there is no updater, and key
// i has priority -i. NCCL's kernels are known by their time only, that of its all-reduce at the
// same bus bandwidth, n / 2 (n - 1) of it; they follow one another on one stream, and those of one
// call are one. Where several trees are faster than one at array_bound, the time at the bound
// stands for equal keys.
// Parameters: as named; keys_per_call 16 as the Module API has it, or 1 as Gluon; launch: of a
// kernel on one GPU, by default the cluster's; planner, detection, array_bound, row as of tree.
// Validation: tests/netmodels/trees/push_pulls_test.cpp; configs/papers/mxnet-tree.
// Source: apache/mxnet 1.3.1 src/kvstore/comm.h, comm_tree.h, kvstore_nccl.h,
// src/ndarray/ndarray.cc, src/engine/threaded_engine_perdevice.cc, python/mxnet/model.py.
#include "netmodels/trees/tree.h"
#include "sim/collective/collective.h"
#include "sim/collective/collective_player.h"
#include "sim/core/error.h"
#include "sim/mxnet/dependency_engine.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

Param time_of(std::string key, std::string help, std::string fallback) {
  return {.key = std::move(key),
          .kind = Kind::kTime,
          .help = std::move(help),
          .need = Need::kDefault,
          .fallback = std::move(fallback),
          .range = kNotNegative};
}
Param count_of(std::string key, std::string help, int fallback) {
  return {.key = std::move(key),
          .kind = Kind::kInteger,
          .help = std::move(help),
          .need = Need::kDefault,
          .fallback = fallback,
          .range = {.low = 1, .high = 10'000}};
}

Params params() {
  Params all{{.key = "merge",
              .kind = Kind::kText,
              .help = "how a key is added up",
              .need = Need::kDefault,
              .fallback = "device",
              .words = {"device", "tree", "nccl"}},
             count_of("keys", "pushed and pulled before a wait", 1),
             {.key = "model",
              .kind = Kind::kPath,
              .help = "layer table whose tensors are the keys, instead of equal ones",
              .need = Need::kOptional},
             count_of("keys_per_call", "of nccl", 16),
             time_of("python_call", "main thread: one call of push or pull", "45 us"),
             time_of("engine_push", "main thread: pushing one operation", "2 us"),
             time_of("gpu_operation", "of a copy or a sum, besides its bytes", "15 us"),
             {.key = "launch",
              .kind = Kind::kTime,
              .help = "of NCCL's kernel on one GPU; default: the cluster's",
              .need = Need::kOptional,
              .range = kNotNegative},
             {.key = "nccl_version",
              .kind = Kind::kText,
              .help = "release of NCCL",
              .need = Need::kDefault,
              .fallback = "2.3.7"}};
  all.insert(all.end(), tree_params().begin(), tree_params().end());
  return all;
}

struct Costs {
  Duration python_call{};
  Duration engine_push{};
  Duration gpu_operation{};
  Duration launch{};      ///< on all GPUs
  TimePerByte in_memory;  ///< of a byte that is read or written
};

/// One process with its engine, on a machine of its own.
class Process final : public DependencyEngine::Listener, public MessageSink {
 public:
  using Variable = DependencyEngine::Variable;
  using Variables = std::vector<Variable>;

  Process(const Cluster& cluster, const Costs& costs)
      : costs_(costs), machine_(cluster), network_(clock_, machine_, cluster.messages) {
    for (std::int64_t gpu = 0; gpu < cluster.gpus_per_node; ++gpu) {
      copy_queues_.push_back(engine_.add_pool(2, PoolOrder::kPriority));
      gpu_threads_.push_back(engine_.add_pool(2, PoolOrder::kFifo));
    }
    cpu_ = engine_.add_pool(4, PoolOrder::kPriority);
    mutex_ = engine_.add_pool(1, PoolOrder::kPriority);
  }

  Variable variable() { return engine_.add_variable(); }
  /// One for each of so many GPUs or slices.
  Variables variables(std::size_t count) {
    Variables all(count);
    std::generate(all.begin(), all.end(), [this] { return variable(); });
    return all;
  }
  void call() { main_thread_ += costs_.python_call; }

  void copy(Gpu from, Gpu to, std::int64_t bytes, Variable source, Variable target) {
    push(copy_queues_[at(from)], {.from = from, .to = to, .bytes = bytes}, {source}, {target});
  }
  /// `arrays` arrays of so many bytes, the target's own among them.
  void sum(Gpu gpu, std::int64_t arrays, std::int64_t bytes, Variables sources, Variable target) {
    const Duration length = costs_.gpu_operation + memory_time((arrays + 1) * bytes);
    push(gpu_threads_[at(gpu)], {.length = length}, std::move(sources), {target});
  }
  /// A kernel of NCCL's on all GPUs, and the wait for it.
  void kernel(Duration length, const Variables& sources, const Variables& targets) {
    kernels_.push_back({length, {}});
    const std::size_t kernel = kernels_.size();
    push(mutex_, {.length = costs_.launch, .launches = kernel}, sources, targets);
    push(cpu_, {.waits_for = kernel}, {}, targets);
  }
  void set_priority(std::int64_t priority) { priority_ = static_cast<std::int32_t>(priority); }

  /// Until everything is over.
  Duration run() {
    clock_.run();
    STEPTIME_CHECK(engine_.pending() == 0, "an operation of kvstore never ends");
    return std::max(main_thread_, since_start(end_));
  }

  void started(DependencyEngine::OperationId operation, std::uint64_t tag) override {
    What& what = operations_[tag];
    what.operation = operation;
    if (what.waits_for > 0) {
      end_at(std::max(clock_.now(), kernels_[what.waits_for - 1].end), tag);
    } else if (what.launches > 0 || what.from < 0) {
      end_at(clock_.now() + what.length, tag);
    } else if (what.from == what.to) {
      end_at(clock_.now() + costs_.gpu_operation + memory_time(2 * what.bytes), tag);
    } else {
      clock_.after(costs_.gpu_operation, Phase::kNormal, [this, tag] {
        const What& copy = operations_[tag];
        network_.send({.sink = this,
                       .from = copy.from,
                       .to = copy.to,
                       .bytes = copy.bytes,
                       .sender = static_cast<std::int32_t>(tag)});
      });
    }
  }
  void ended(DependencyEngine::OperationId, std::uint64_t tag) override {
    end_ = clock_.now();
    if (operations_[tag].launches == 0) return;
    Kernel& kernel = kernels_[operations_[tag].launches - 1];
    stream_free_ = kernel.end = std::max(clock_.now(), stream_free_) + kernel.length;
  }
  void delivered(const Message& message) override {
    engine_.finish(operations_[static_cast<std::size_t>(message.sender)].operation);
  }

 private:
  struct What {
    Gpu from = -1;  ///< of a copy
    Gpu to = -1;
    std::int64_t bytes = 0;
    Duration length{};          ///< of what is no copy
    std::size_t launches = 0;   ///< the number of a kernel, from 1 on
    std::size_t waits_for = 0;  ///< the same
    DependencyEngine::OperationId operation = 0;
  };
  struct Kernel {
    Duration length{};
    Time end{};
  };

  static std::size_t at(Gpu gpu) { return static_cast<std::size_t>(gpu); }
  Duration memory_time(std::int64_t bytes) const { return reduction_time(bytes, costs_.in_memory); }
  void end_at(Time time, std::uint64_t tag) {
    clock_.at(time, Phase::kComplete, [this, tag] { engine_.finish(operations_[tag].operation); });
  }
  /// By the main thread, when it comes to it.
  void push(DependencyEngine::Pool pool, const What& what, Variables reads, Variables writes) {
    main_thread_ += costs_.engine_push;
    const std::uint64_t tag = operations_.size();
    operations_.push_back(what);
    pushes_.push_back({{pool, priority_, tag, std::nullopt}, std::move(reads), std::move(writes)});
    clock_.at(Time(main_thread_), Phase::kNormal, [this, tag] {
      const Push& push = pushes_[tag];
      engine_.push(push.operation, push.reads, push.writes);
    });
  }
  struct Push {
    DependencyEngine::Operation operation;
    Variables reads;
    Variables writes;
  };

  const Costs costs_;
  Machine machine_;
  Engine clock_;
  Network network_;
  DependencyEngine engine_{clock_, *this};
  std::vector<DependencyEngine::Pool> copy_queues_;
  std::vector<DependencyEngine::Pool> gpu_threads_;
  DependencyEngine::Pool cpu_ = 0;
  DependencyEngine::Pool mutex_ = 0;
  Duration main_thread_{};
  std::int32_t priority_ = 0;
  std::vector<What> operations_;
  std::vector<Push> pushes_;
  std::vector<Kernel> kernels_;
  Time stream_free_{};
  Time end_{};  ///< of the last operation; what the network has voided comes later
};

class PushPulls final : public Collective {
 public:
  PushPulls(const Config& c, const Cluster& cluster)
      : cluster_(cluster),
        merge_(c.get<std::string>("merge")),
        keys_(c.get<std::int64_t>("keys")),
        keys_per_call_(c.get<std::int64_t>("keys_per_call")),
        gpus_(static_cast<Gpu>(cluster.gpus_per_node)),
        bound_(c.get<Bytes>("array_bound").count),
        row_(c.get<Bytes>("row").count) {
    if (cluster.nodes != 1 || gpus_ < 2) {
      c.fail("merge", fmt::format("is of the GPUs of one node, two at least, got {} of {}",
                                  cluster.nodes, gpus_));
    }
    if (merge_ == "tree") trees_ = read_trees(c, cluster);
    costs_ = {.python_call = c.get<Duration>("python_call"),
              .engine_push = c.get<Duration>("engine_push"),
              .gpu_operation = c.get<Duration>("gpu_operation"),
              .in_memory = {cluster.reduction.seconds_per_byte / 3}};
    if (merge_ == "nccl") read_nccl(c);
    if (c.has("model")) read_model(c);
  }

  Duration time(Bytes m) const override {
    if (!elements_.empty()) return of_keys(tensors(m));
    const auto equal = [this](std::int64_t bytes) {
      return of_keys(std::vector<std::int64_t>(static_cast<std::size_t>(keys_), bytes));
    };
    const std::int64_t bytes = ceil_div(m.count, keys_);
    const std::int64_t first_cut =
        row_ * std::max<std::int64_t>(bound_ / row_ + 1, 2 * std::int64_t{gpus_});
    const Duration own = equal(bytes);
    return merge_ == "tree" && bytes >= first_cut ? std::max(own, equal(first_cut - 1)) : own;
  }
  Duration startup() const override { return time(Bytes{0}); }

 private:
  void read_nccl(const Config& c) {
    if (!cluster_.gpus) c.fail("merge", "nccl needs the cluster's gpus");
    costs_.launch = gpus_ * (c.has("launch") ? c.get<Duration>("launch") : cluster_.gpus->launch);
    static const Params wrapper{
        {.key = "nccl", .kind = Kind::kObject, .choice = Collective::kNoun}};
    const Json nccl{{"type", "nccl"}, {"version", c.get<std::string>("nccl_version")}};
    Cluster launched = cluster_;
    launched.gpus->launch = {};
    nccl_ = Collectives::instance().make(
        Config(std::make_shared<Document>(Document{c.file(), Json{{"nccl", nccl}}}), wrapper),
        "nccl", launched);
  }

  void read_model(const Config& c) {
    const Json table = parse_json(c.text_of("model"), c.get<std::string>("model"));
    for (const Json& layer : table.value("layers", Json::array())) {
      for (const Json& tensor : layer.value("tensors", Json::array()))
        elements_.push_back(tensor.value("params", std::int64_t{0}));
    }
    if (elements_.empty()) c.fail("model", "expected a layer table with tensors");
  }

  /// In forward order, each with its share of the bytes.
  std::vector<std::int64_t> tensors(Bytes m) const {
    const auto all = std::accumulate(elements_.begin(), elements_.end(), std::int64_t{0});
    const double each = static_cast<double>(m.count) / static_cast<double>(all);
    std::vector<std::int64_t> bytes;
    for (const std::int64_t elements : elements_)
      bytes.push_back(std::llround(static_cast<double>(elements) * each));
    return bytes;
  }

  Duration of_keys(const std::vector<std::int64_t>& bytes) const {
    Process process(cluster_, costs_);
    const std::vector<Gpu> merges = places(bytes);
    const std::size_t step = merge_ == "nccl" ? static_cast<std::size_t>(keys_per_call_) : 1;
    for (std::size_t key = 0; key < bytes.size(); key += step) {
      process.set_priority(-static_cast<std::int64_t>(key));
      if (merge_ == "nccl") {
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(key);
        const auto count = static_cast<std::ptrdiff_t>(std::min(step, bytes.size() - key));
        nccl(process, std::accumulate(first, first + count, std::int64_t{0}));
      } else if (merge_ == "device") {
        device(process, merges[key], bytes[key]);
      } else {
        tree(process, bytes[key]);
      }
    }
    return process.run();
  }

  /// Where `device` adds up each key.
  std::vector<Gpu> places(const std::vector<std::int64_t>& bytes) const {
    std::vector<std::size_t> order(bytes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
    std::vector<Gpu> places(bytes.size());
    std::vector<std::int64_t> loads(static_cast<std::size_t>(gpus_));
    for (const std::size_t key : order) {
      const auto least = std::min_element(loads.begin(), loads.end());
      *least += std::max<std::int64_t>(bytes[key], 1);  // empty ones go round, too
      places[key] = static_cast<Gpu>(least - loads.begin());
    }
    return places;
  }

  void device(Process& process, Gpu merges, std::int64_t bytes) const {
    const auto n = static_cast<std::size_t>(gpus_);
    const auto gradients = process.variables(n);
    const auto results = process.variables(n);
    auto buffers = process.variables(n);  // the first is that of the sum
    process.call();
    for (Gpu gpu = 0; gpu < gpus_; ++gpu)
      process.copy(gpu, merges, bytes, gradients[of(gpu)], buffers[of(gpu)]);
    const auto merged = buffers.front();
    buffers.erase(buffers.begin());
    process.sum(merges, gpus_, bytes, buffers, merged);
    process.call();
    for (Gpu gpu = 0; gpu < gpus_; ++gpu)
      process.copy(merges, gpu, bytes, merged, results[of(gpu)]);
  }

  void tree(Process& process, std::int64_t bytes) const {
    const auto n = static_cast<std::size_t>(gpus_);
    const auto gradients = process.variables(n);
    const auto results = process.variables(n);
    auto slices = tree_slices(bytes / row_, row_, bound_, gpus_);
    const bool is_cut = !slices.empty();
    if (is_cut) slices.back() += bytes % row_;
    if (!is_cut) slices.push_back(bytes);
    std::vector<Process::Variables> merged;
    process.call();
    for (std::size_t i = 0; i < slices.size(); ++i) {
      merged.push_back(process.variables(n));
      reduce(process, trees_[i], slices[i], gradients, merged.back());
    }
    for (std::size_t i = 0; is_cut && i < slices.size(); ++i)
      broadcast(process, trees_[i], slices[i], merged[i]);
    process.call();
    if (!is_cut) {
      const Gpu root = trees_[0].root();
      process.copy(root, root, bytes, merged[0][of(root)], results[of(root)]);
      broadcast(process, trees_[0], bytes, results);
      return;
    }
    for (Gpu gpu = 0; gpu < gpus_; ++gpu) {
      for (std::size_t i = 0; i < slices.size(); ++i)
        process.copy(gpu, gpu, slices[i], merged[i][of(gpu)], results[of(gpu)]);
    }
  }

  static void reduce(Process& process, const ReduceTree& tree, std::int64_t bytes,
                     const Process::Variables& gradients, const Process::Variables& merged) {
    const auto arrived = process.variables(merged.size());
    for (std::size_t gpu = 0; gpu < merged.size(); ++gpu) {
      for (const Gpu leaf : tree.level(tree.depth())) {
        if (of(leaf) == gpu) process.copy(leaf, leaf, bytes, gradients[gpu], merged[gpu]);
      }
    }
    for (const auto& level : tree.copies()) {
      for (const GpuCopy& copy : level)
        process.copy(copy.from, copy.to, bytes, merged[of(copy.from)], arrived[of(copy.to)]);
      for (const GpuCopy& copy : level)
        process.sum(copy.to, 2, bytes, {arrived[of(copy.to)]}, merged[of(copy.to)]);
    }
  }
  static void broadcast(Process& process, const ReduceTree& tree, std::int64_t bytes,
                        const Process::Variables& results) {
    auto levels = tree.copies();
    std::reverse(levels.begin(), levels.end());
    for (const auto& level : levels) {
      for (const GpuCopy& copy : level)
        process.copy(copy.to, copy.from, bytes, results[of(copy.to)], results[of(copy.from)]);
    }
  }

  void nccl(Process& process, std::int64_t bytes) const {
    const auto n = static_cast<double>(gpus_);
    const Duration kernel = from_seconds(to_seconds(nccl_->time({bytes})) * n / (2 * (n - 1)));
    const auto merged = process.variable();
    process.call();
    process.kernel(kernel, {process.variable()}, {merged});
    process.call();
    process.kernel(kernel, {merged}, {process.variable()});
  }

  static std::size_t of(Gpu gpu) { return static_cast<std::size_t>(gpu); }

  const Cluster cluster_;
  std::string merge_;
  std::int64_t keys_;
  std::int64_t keys_per_call_;
  Gpu gpus_;
  std::vector<std::int64_t> elements_;  ///< of a model's tensors
  std::vector<ReduceTree> trees_;
  std::int64_t bound_;
  std::int64_t row_;
  Costs costs_;
  std::unique_ptr<Collective> nccl_;
};

const bool kRegistered = Collectives::instance().add(
    "push-pulls", "MXNet's kvstore: keys pushed and pulled before a wait, on one node", params(),
    [](const Config& c, const Cluster& cluster) {
      return std::make_unique<PushPulls>(c, cluster);
    });

}  // namespace
}  // namespace steptime
