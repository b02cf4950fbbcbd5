// Device: every GPU copies its gradient of a key to the GPU that merges the key, which adds them up
// and copies the sum to all. Its own copy is one, too. Which GPU that is, `sharding` says: by
// default the largest key comes first, each to the GPU with the fewest bytes so far.
//
// For N GPUs a key takes N copies, a sum of N and N copies, to GPU 0, 1, 2, ... whichever merges.
// Where the optimizer runs on the kvstore, the weights live on the GPU that merges, and a pull
// copies them to the buffer of the sum first, which goes to all.
// Source: apache/mxnet 1.3.1 src/kvstore/comm.h (CommDevice), src/kvstore/kvstore_local.h.
#include "sim/mxnet/merge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace steptime {
namespace {

class DeviceStore final : public KvStore {
 public:
  DeviceStore(NodeProcess& process, std::span<const std::int64_t> bytes, const Sharding& sharding)
      : process_(process), parts_(bytes.size()) {
    // Keys without bytes go round, too.
    std::vector<std::int64_t> sizes(bytes.begin(), bytes.end());
    for (std::int64_t& size : sizes)
      size = std::max<std::int64_t>(size, 1);
    for (const Shard& shard : sharding.shards(sizes, process.gpus())) {
      const auto key = static_cast<std::size_t>(shard.key);
      parts_[key].push_back({shard.server, std::min(shard.elements, bytes[key]),
                             process.variables(static_cast<std::size_t>(process.gpus())),
                             process.variable()});
    }
  }

  void push(KeyRange keys) override {
    for (const Part& part : parts_[keys.first]) {
      for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
        process_.copy(gpu, part.gpu, part.bytes, process_.gradient(keys.first, gpu),
                      part.buffers[static_cast<std::size_t>(gpu)]);
      }
      const auto merged = part.buffers.front();
      process_.sum(part.gpu, process_.gpus(), part.bytes,
                   {part.buffers.begin() + 1, part.buffers.end()}, {merged});
      process_.update(part.gpu, {merged}, part.weights);
    }
  }
  void pull(KeyRange keys) override {
    for (const Part& part : parts_[keys.first]) {
      const auto merged = part.buffers.front();
      if (process_.updates()) process_.copy(part.gpu, part.gpu, part.bytes, part.weights, merged);
      for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
        process_.copy(part.gpu, gpu, part.bytes, merged, process_.weight(keys.first, gpu));
      }
    }
  }

 private:
  /// Of a key, on the GPU that merges it.
  struct Part {
    std::int32_t gpu;
    std::int64_t bytes;
    NodeProcess::Variables buffers;  ///< what each GPU has copied; the first becomes the sum
    NodeProcess::Variable weights;   ///< what the optimizer makes of it, where it runs here
  };
  NodeProcess& process_;
  std::vector<std::vector<Part>> parts_;
};

class Device final : public Merge {
 public:
  Place place() const override { return Place::kGpu; }
  std::unique_ptr<KvStore> init(NodeProcess& process, std::span<const std::int64_t> bytes,
                                const Sharding& sharding) const override {
    return std::make_unique<DeviceStore>(process, bytes, sharding);
  }
};

const bool kRegistered = Merges::instance().add(
    "device", "each key on one of the GPUs", {},
    [](const Config&, const Cluster&) { return std::make_unique<Device>(); });

}  // namespace
}  // namespace steptime
