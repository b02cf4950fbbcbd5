// Nccl: for each call a reduction to GPU 0, and for the pull a broadcast from it, each launched on
// all GPUs under one mutex and followed by an operation that waits for its stream.
//
// The Module API pushes and pulls 16 keys a call, Gluon one. Kernels follow one another on one
// stream, and those of one call are one.
// Scope: kernels are known by their time only, that of NCCL's all-reduce at the same bus bandwidth,
// n / 2 (n - 1) of it; other traffic on the links does not slow them down.
// Parameters: version, of NCCL. A launch takes what the cluster's `gpus` say; keys in a call are
// MXNET_UPDATE_AGGREGATION_SIZE.
// Source: apache/mxnet 1.3.1 src/kvstore/kvstore_nccl.h, python/mxnet/model.py.
#include "sim/collective/collective.h"
#include "sim/config/key_use.h"
#include "sim/mxnet/merge.h"
#include "sim/mxnet/updater.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace steptime {
namespace {

class NcclStore final : public KvStore {
 public:
  NcclStore(NodeProcess& process, std::span<const std::int64_t> bytes, const Collective& nccl,
            Duration launches)
      : process_(process),
        nccl_(nccl),
        launches_(launches),
        bytes_(bytes.begin(), bytes.end()),
        merged_(process.variables(bytes.size())) {}

  void push(KeyRange keys) override {
    NodeProcess::Variables gradients;
    NodeProcess::Variables merged;
    for (std::size_t key = keys.first; key < keys.first + keys.count; ++key) {
      merged.push_back(merged_[key]);
      for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu)
        gradients.push_back(process_.gradient(key, gpu));
    }
    process_.kernel(launches_, kernel(keys), gradients, merged);
    for (std::size_t key = keys.first; key < keys.first + keys.count; ++key) {
      const SummedPart sum{0, bytes_[key], merged_[key], merged_[key]};
      process_.updater().push(process_, key, {&sum, 1});
    }
  }
  void pull(KeyRange keys) override {
    NodeProcess::Variables merged;
    NodeProcess::Variables weights;
    for (std::size_t key = keys.first; key < keys.first + keys.count; ++key) {
      merged.push_back(merged_[key]);
      for (std::int32_t gpu = 0; gpu < process_.gpus(); ++gpu)
        weights.push_back(process_.weight(key, gpu));
    }
    process_.kernel(launches_, kernel(keys), merged, weights);
  }

 private:
  Duration kernel(KeyRange keys) const {
    const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(keys.first);
    const auto bytes =
        std::accumulate(first, first + static_cast<std::ptrdiff_t>(keys.count), std::int64_t{0});
    const auto n = static_cast<double>(process_.gpus());
    return from_seconds(to_seconds(nccl_.time({bytes})) * n / (2 * (n - 1)));
  }

  NodeProcess& process_;
  const Collective& nccl_;
  Duration launches_;
  std::vector<std::int64_t> bytes_;
  NodeProcess::Variables merged_;
};

constexpr const char* kVersion = "2.3.7";  // of the proposal's time

/// The collective's parameters, with the merge's default of the version.
Params with_own_default() {
  Params params = Collectives::instance().items().at("nccl").params;
  for (Param& p : params) {
    if (p.key == "version") p.fallback = kVersion;
  }
  return params;
}

class Nccl final : public Merge {
 public:
  Nccl(const Config& c, const Cluster& cluster) {
    if (!cluster.gpus) c.fail("type", "nccl needs the cluster's gpus");
    launches_ = cluster.gpus_per_node * cluster.gpus->launch;
    Cluster launched = cluster;
    launched.gpus->launch = {};
    static const Params params = with_own_default();
    nccl_ = Collectives::instance().make_from("nccl", c.through(params), launched);
  }

  Place place() const override { return Place::kEngine; }
  bool takes_several_keys() const override { return true; }
  std::string outside_domain(std::span<const std::int64_t> bytes) const override {
    std::string domain = "NCCL's kernels are known by their time, whatever else is on the links";
    for (const std::int64_t each : bytes) {
      const std::string own = nccl_->outside_domain({each});
      if (!own.empty()) return domain + "; " + own;
    }
    return domain;
  }
  std::unique_ptr<KvStore> init(NodeProcess& process, std::span<const std::int64_t> bytes,
                                const Sharding&) const override {
    return std::make_unique<NcclStore>(process, bytes, *nccl_, launches_);
  }

 private:
  Duration launches_;
  std::unique_ptr<Collective> nccl_;
};

const Params kParams{{.key = "version",
                      .kind = Kind::kText,
                      .help = "release of NCCL",
                      .need = Need::kDefault,
                      .fallback = kVersion}};

const bool kUses = acts_beside("keys_per_call", "merge", {"nccl"});

const bool kRegistered = Merges::instance().add(
    "nccl", "NCCL's kernels, for some keys at a time", kParams,
    [](const Config& c, const Cluster& cluster) { return std::make_unique<Nccl>(c, cluster); });

}  // namespace
}  // namespace steptime
