#include "sim/mxnet/merge.h"

#include "sim/mxnet/node_process.h"
#include "sim/mxnet/updater.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace steptime {
namespace {

class UpdatesAlone final : public KvStore {
 public:
  explicit UpdatesAlone(NodeProcess& process) : process_(process) {}
  void push(KeyRange keys) override {
    const SummedPart sum{0, 0, process_.gradient(keys.first, 0), process_.weight(keys.first, 0)};
    process_.updater().push(process_, keys.first, {&sum, 1});
  }
  void pull(KeyRange) override {}
  std::int64_t calls() const override { return 0; }

 private:
  NodeProcess& process_;
};

class PushesAlone final : public KvStore {
 public:
  PushesAlone(NodeProcess& process, std::span<const std::int64_t> bytes)
      : process_(process),
        bytes_(bytes.begin(), bytes.end()),
        on_host_(process.variables(bytes.size())) {}
  void push(KeyRange keys) override {
    const SummedPart own = part(keys.first, process_.gradient(keys.first, 0));
    process_.updater().push(process_, keys.first, {&own, 1});
  }
  void pull(KeyRange keys) override {
    const SummedPart own = part(keys.first, process_.weight(keys.first, 0));
    process_.updater().pull(process_, keys.first, {&own, 1});
  }

 private:
  SummedPart part(std::size_t key, NodeProcess::Variable on_gpu) const {
    return {0, bytes_[key], on_gpu, on_host_[key]};
  }

  NodeProcess& process_;
  std::vector<std::int64_t> bytes_;
  NodeProcess::Variables on_host_;  ///< by key
};

class OneGpu final : public Merge {
 public:
  Place place() const override { return Place::kHost; }
  std::unique_ptr<KvStore> init(NodeProcess& process, std::span<const std::int64_t> bytes,
                                const Sharding&) const override {
    return std::make_unique<PushesAlone>(process, bytes);
  }
};

class NoKvStore final : public Merge {
 public:
  Place place() const override { return Place::kEngine; }
  std::unique_ptr<KvStore> init(NodeProcess& process, std::span<const std::int64_t>,
                                const Sharding&) const override {
    return std::make_unique<UpdatesAlone>(process);
  }
};

}  // namespace

std::shared_ptr<const Merge> no_kvstore() {
  return std::make_shared<NoKvStore>();
}

std::shared_ptr<const Merge> merge_of_one_gpu() {
  return std::make_shared<OneGpu>();
}

LinearCost cost_of_one_key(const Merge& merge, const Cluster& cluster, const Sharding& sharding) {
  constexpr std::int64_t kLarge = 16'000'000;
  const auto seconds = [&](std::int64_t bytes) {
    World world;
    const Machine machine = merge.machine(cluster);
    NodeProcess process(world, {world.connect(machine, cluster.messages)}, cluster, {},
                        no_updater(), 1);
    const auto store = merge.init(process, {&bytes, 1}, sharding);
    process.begin_period();
    world.start({"main thread"}, process.push([&] {
      store->push({});
      store->pull({});
    }));
    world.run();
    return since_start(process.end());
  };
  const Duration empty = seconds(0);
  return {empty, {to_seconds(seconds(kLarge) - empty) / static_cast<double>(kLarge)}};
}

const Params& merge_params() {
  static const Params params{
      {.key = "merge",
       .kind = Kind::kObject,
       .help = "how gradients are added up in a node",
       .need = Need::kDefault,
       .fallback = Json{{"type", "device"}},
       .choice = Merge::kNoun},
      {.key = "keys_per_call",
       .kind = Kind::kInteger,
       .help = "of nccl, pushed or pulled as one: 16 by the Module API, 1 by Gluon",
       .need = Need::kDefault,
       .fallback = 16,
       .range = {.low = 1, .high = 10'000}},
      {.key = "sharding",
       .kind = Kind::kObject,
       .help = "which GPU, or thread, merges what",
       .need = Need::kDefault,
       .fallback = Json{{"type", "greedy"}, {"order", "largest-first"}},
       .choice = Sharding::kNoun}};
  return params;
}

std::unique_ptr<Merge> read_merge(const Config& c, const Cluster& cluster) {
  auto merge = Merges::instance().make(c, "merge", cluster);
  const auto keys = c.get<std::int64_t>("keys_per_call");
  if (merge->takes_several_keys()) merge->keys_per_call_ = keys;
  return merge;
}

std::shared_ptr<const Sharding> read_key_sharding(const Config& c, const char* key) {
  std::shared_ptr<const Sharding> sharding = Shardings::instance().make(c, key);
  if (sharding->keys() != KeyKind::kTensor)
    c.fail(key, "places what is sent as one, but kvstore merges and sends keys");
  if (sharding->places_moving_averages())
    c.fail(key, "places moving averages, but MXNet keeps those out of its kvstore");
  return sharding;
}

}  // namespace steptime
