// Local: every GPU copies its gradient of a key to the host, where a thread adds them up; the sum
// is copied to all.
//
// For N GPUs a key takes N copies, a sum of N on the host, which costs N - 1 times the cluster's
// `reduction` for each byte, and N copies, each on the copy queue of its GPU.
// Source: apache/mxnet 1.3.1 src/kvstore/comm.h, CommCPU.
#include "sim/mxnet/merge.h"
#include "sim/mxnet/updater.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace steptime {
namespace {

class LocalStore final : public KvStore {
 public:
  LocalStore(NodeProcess& process, std::span<const std::int64_t> bytes)
      : process_(process), bytes_(bytes.begin(), bytes.end()) {
    for (std::size_t key = 0; key < bytes.size(); ++key)
      buffers_.push_back(process.variables(static_cast<std::size_t>(process.gpus())));
  }

  void push(KeyRange keys) override {
    const auto& buffers = buffers_[keys.first];
    for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
      process_.copy(gpu, NodeProcess::kHost, bytes_[keys.first], process_.gradient(keys.first, gpu),
                    buffers[static_cast<std::size_t>(gpu)]);
    }
    process_.sum(NodeProcess::kHost, process_.gpus(), bytes_[keys.first],
                 {buffers.begin() + 1, buffers.end()}, {buffers.front()});
    process_.updater().push(process_, keys.first, sum(keys.first));
  }
  void pull(KeyRange keys) override {
    process_.updater().pull(process_, keys.first, sum(keys.first));
    for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu) {
      process_.copy(NodeProcess::kHost, gpu, bytes_[keys.first], buffers_[keys.first].front(),
                    process_.weight(keys.first, gpu));
    }
  }

 private:
  std::array<SummedPart, 1> sum(std::size_t key) const {
    const auto merged = buffers_[key].front();
    return {{{NodeProcess::kHost, bytes_[key], merged, merged}}};
  }

  NodeProcess& process_;
  std::vector<std::int64_t> bytes_;
  std::vector<NodeProcess::Variables> buffers_;  ///< by key; the first becomes the sum
};

class Local final : public Merge {
 public:
  Place place() const override { return Place::kHost; }
  std::unique_ptr<KvStore> init(NodeProcess& process, std::span<const std::int64_t> bytes,
                                const Sharding&) const override {
    return std::make_unique<LocalStore>(process, bytes);
  }
};

const bool kRegistered =
    Merges::instance().add("local", "in host memory", {},
                           [](const Config&, const Cluster&) { return std::make_unique<Local>(); });

}  // namespace
}  // namespace steptime
