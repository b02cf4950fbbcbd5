// Device: every GPU copies its gradient of a key to the GPU that merges the key, which adds them up
// and copies the sum to all. Its own copy is one, too. Which GPU that is, `sharding` says: by
// default the largest key comes first, each to the GPU with the fewest bytes so far.
//
// For N GPUs a key takes N copies, a sum of N and N copies, to GPU 0, 1, 2, ... whichever merges.
// Where the optimizer runs in the process, the weights live on the GPU that merges, and a pull
// copies them to the buffer of the sum first, which goes to all. Where it runs on servers, the host
// has a buffer for each key, which is pushed from and pulled to.
// Source: apache/mxnet 1.3.1 src/kvstore/comm.h (CommDevice), src/kvstore/kvstore_local.h.
#include "sim/mxnet/merge.h"
#include "sim/mxnet/updater.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
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
      auto buffers = process.variables(static_cast<std::size_t>(process.gpus()));
      const SummedPart sum{shard.server, std::min(shard.elements, bytes[key]), buffers.front(),
                           process.variable()};
      parts_[key].push_back({sum, std::move(buffers)});
    }
  }

  void push(KeyRange keys) override {
    for (const auto& [sum, buffers] : parts_[keys.first]) {
      for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
        process_.copy(gpu, sum.gpu, sum.bytes, process_.gradient(keys.first, gpu),
                      buffers[static_cast<std::size_t>(gpu)]);
      }
      process_.sum(sum.gpu, process_.gpus(), sum.bytes, {buffers.begin() + 1, buffers.end()},
                   {sum.sum});
    }
    process_.updater().push(process_, keys.first, sums(keys.first));
  }
  void pull(KeyRange keys) override {
    process_.updater().pull(process_, keys.first, sums(keys.first));
    for (const auto& [sum, buffers] : parts_[keys.first]) {
      for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu)
        process_.copy(sum.gpu, gpu, sum.bytes, sum.sum, process_.weight(keys.first, gpu));
    }
  }

 private:
  /// Of a key, on the GPU that merges it.
  struct Part {
    SummedPart sum;
    NodeProcess::Variables buffers;  ///< what each GPU has copied; the first becomes the sum
  };
  std::vector<SummedPart> sums(std::size_t key) const {
    std::vector<SummedPart> sums;
    for (const Part& part : parts_[key])
      sums.push_back(part.sum);
    return sums;
  }
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
