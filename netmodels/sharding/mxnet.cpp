// MXNet's rule: a key below the bound goes whole to server (key * 9973) mod ns; any other key n is
// split over all servers, part i = round(n / ns * (i + 1)) - round(n / ns * i).
//
// Parameters: bound [elements], MXNET_KVSTORE_BIGARRAY_BOUND.
// Validation: tests/data/ps_sharding_cases.json.
// Source: apache/mxnet 1.3.1 src/kvstore/kvstore_dist.h EncodeDefaultKey.
#include "sim/servers/sharding.h"

#include <cmath>
#include <memory>
#include <span>
#include <vector>

namespace steptime {
namespace {

const Params kParams{{.key = "bound",
                      .kind = Kind::kInteger,
                      .help = "elements from which on a key is split",
                      .need = Need::kDefault,
                      .fallback = 1000000,
                      .range = {.low = 1, .high = 1e15}}};

class Mxnet final : public Sharding {
 public:
  explicit Mxnet(std::int64_t bound) : bound_(bound) {}

  std::vector<Shard> shards(std::span<const std::int64_t> elements,
                            std::int64_t servers) const override {
    std::vector<Shard> all;
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const auto key = static_cast<std::int32_t>(k);
      if (elements[k] < bound_) {
        const auto hashed = static_cast<std::int64_t>(k) * 9973 % servers;
        all.push_back({key, static_cast<std::int32_t>(hashed), elements[k]});
        continue;
      }
      const double part = static_cast<double>(elements[k]) / static_cast<double>(servers);
      for (std::int64_t i = 0; i < servers; ++i) {
        const auto begin = std::llround(part * static_cast<double>(i));
        const auto end = std::llround(part * static_cast<double>(i + 1));
        if (end > begin) all.push_back({key, static_cast<std::int32_t>(i), end - begin});
      }
    }
    return all;
  }

 private:
  std::int64_t bound_;
};

const bool kRegistered = Shardings::instance().add(
    "mxnet", "small keys hashed to a server, big ones split over all", kParams,
    [](const Config& c) { return std::make_unique<Mxnet>(c.get<std::int64_t>("bound")); });

}  // namespace
}  // namespace steptime
