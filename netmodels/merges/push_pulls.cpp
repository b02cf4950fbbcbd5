// Push-pulls: MXNet's kvstore pushes and pulls `keys` arrays of equal size, or the tensors of a
// `model`, one after the other without a wait between them, and then waits for all, for M bytes in
// all. It is the benchmark of proposal 003, Figures 2 and 7; `merge` says how a key is added up.
//
// The main thread takes `python_call` for each push and each pull, and `engine_push` for each of
// their operations.
// Scope: one node of two GPUs at least; gradients are there from the start, there is no updater,
// and key i has priority -i. Where more bytes would take less time, as where several trees are
// faster than one at its bound, the time of the largest array below the merge's `cut` stands for
// equal keys. Parameters: as named; gpu_operation and sharding as of sim/mxnet/node_process.h and
// kvstore. Validation: tests/netmodels/merges/push_pulls_test.cpp; configs/papers/mxnet-tree.
// Source: apache/mxnet 1.3.1 src/kvstore, python/mxnet/model.py.
#include "sim/collective/collective.h"
#include "sim/core/error.h"
#include "sim/mxnet/merge.h"
#include "sim/mxnet/node_process.h"
#include "sim/mxnet/updater.h"

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

Params params() {
  Params all = merge_params();
  const Params own{{.key = "keys",
                    .kind = Kind::kInteger,
                    .help = "pushed and pulled before a wait",
                    .need = Need::kDefault,
                    .fallback = 1,
                    .range = {.low = 1, .high = 10'000}},
                   {.key = "model",
                    .kind = Kind::kPath,
                    .help = "layer table whose tensors are the keys, instead of equal ones",
                    .need = Need::kOptional},
                   time_of("python_call", "main thread: one call of push or pull", "45 us"),
                   time_of("engine_push", "main thread: pushing one operation", "2 us"),
                   time_of("gpu_operation", "of a copy or a sum, besides its bytes", "15 us")};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

class PushPulls final : public Collective {
 public:
  PushPulls(const Config& c, const Cluster& cluster)
      : cluster_(cluster),
        keys_(c.get<std::int64_t>("keys")),
        python_call_(c.get<Duration>("python_call")) {
    if (cluster.nodes != 1 || cluster.gpus_per_node < 2) {
      c.fail("merge", fmt::format("is of the GPUs of one node, two at least, got {} of {}",
                                  cluster.nodes, cluster.gpus_per_node));
    }
    merge_ = read_merge(c, cluster);
    sharding_ = read_key_sharding(c, "sharding");
    costs_ = {.engine_push = c.get<Duration>("engine_push"),
              .gpu_operation = c.get<Duration>("gpu_operation")};
    if (c.has("model")) read_model(c);
  }

  Duration time(Bytes m) const override {
    if (!elements_.empty()) return of_keys(tensors(m));
    const std::int64_t bytes = ceil_div(m.count, keys_);
    const auto cut = merge_->cut(cluster_);
    const Duration own = of_equal(bytes);
    return cut && bytes >= *cut ? std::max(own, of_equal(*cut - 1)) : own;
  }
  Duration startup() const override { return time(Bytes{0}); }

 private:
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

  Duration of_equal(std::int64_t bytes) const {
    return of_keys(std::vector<std::int64_t>(static_cast<std::size_t>(keys_), bytes));
  }
  Duration of_keys(const std::vector<std::int64_t>& bytes) const {
    World world;
    const Machine machine = merge_->machine(cluster_);
    NodeProcess process(world, {world.connect(machine, cluster_.messages)}, cluster_, costs_,
                        no_updater(), bytes.size());
    const auto store = merge_->init(process, bytes, *sharding_);
    process.begin_period();
    world.start({"main thread"}, main_thread(process, *store, bytes.size()));
    world.run();
    STEPTIME_CHECK(process.pending() == 0, "an operation of kvstore never ends");
    return since_start(process.end());
  }
  Task main_thread(NodeProcess& process, KvStore& store, std::size_t keys) const {
    const auto each = static_cast<std::size_t>(merge_->keys_per_call());
    for (std::size_t key = 0; key < keys; key += each) {
      const KeyRange range{key, std::min(each, keys - key)};
      process.set_priority(-static_cast<std::int32_t>(key));
      process.call(python_call_);
      co_await process.push([&] { store.push(range); });
      process.call(python_call_);
      co_await process.push([&] { store.pull(range); });
    }
  }

  const Cluster cluster_;
  std::int64_t keys_;
  Duration python_call_;
  NodeProcess::Costs costs_;
  std::unique_ptr<Merge> merge_;
  std::shared_ptr<const Sharding> sharding_;
  std::vector<std::int64_t> elements_;  ///< a model's tensors have so many each
};

const bool kRegistered = Collectives::instance().add(
    "push-pulls", "MXNet's kvstore: keys pushed and pulled before a wait, on one node", params(),
    [](const Config& c, const Cluster& cluster) {
      return std::make_unique<PushPulls>(c, cluster);
    });

}  // namespace
}  // namespace steptime
