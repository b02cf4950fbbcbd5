// What a training run depends on: speeds of workers, and parts of keys on servers.
#include "sim/error.h"
#include "sim/random.h"
#include "sim/training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace steptime {

double Variation::factor(std::int64_t seed, std::int64_t worker, std::int64_t step) const {
  const auto w = static_cast<std::uint32_t>(worker);
  const auto s = static_cast<std::uint32_t>(step);
  double factor = 1;
  if (spread > 0) factor *= std::max(0.1, 1 + spread * normal(seed, Purpose::kWorkerSpeed, w, 0));
  if (jitter > 0) factor *= std::max(0.1, 1 + jitter * normal(seed, Purpose::kStepTime, w, s));
  if (straggle_chance > 0 && uniform(seed, Purpose::kStraggler, w, s) < straggle_chance) {
    factor *= straggle_factor;
  }
  return factor;
}

namespace {

struct KeyPart {
  std::int32_t server;
  std::int64_t begin;  ///< element, counted over all keys in forward order
  std::int64_t elements;
};

/// Keys of every unit: a unit is a tensor, or a layer's tensors; units come last layer first.
std::vector<std::vector<std::size_t>> keys_of_units(const Workload& workload,
                                                    std::span<const GradientUnit> units,
                                                    Granularity granularity) {
  std::vector<std::vector<std::size_t>> left(workload.trace.layers.size());
  std::size_t key = 0;
  for (std::size_t l = 0; l < left.size(); ++l) {
    for (std::size_t t = 0; t < workload.trace.layers[l].tensors.size(); ++t)
      left[l].push_back(key++);
  }
  std::vector<std::vector<std::size_t>> keys;
  for (const GradientUnit& unit : units) {
    auto& of_layer = left[static_cast<std::size_t>(unit.layer)];
    if (granularity == Granularity::kLayer) {
      keys.push_back(of_layer);
    } else {
      keys.push_back({of_layer.back()});
      of_layer.pop_back();
    }
  }
  return keys;
}

}  // namespace

std::vector<std::vector<Piece>> cut_pieces(const Workload& workload,
                                           std::span<const GradientUnit> units,
                                           std::span<const Bucket> buckets,
                                           const ServerGroup& servers, Granularity granularity,
                                           std::size_t parameters) {
  std::vector<std::vector<Piece>> pieces(buckets.size());
  if (servers.count == 0) return pieces;
  std::vector<std::int64_t> elements;
  for (const Layer& layer : workload.trace.layers) {
    for (const Tensor& tensor : layer.tensors)
      elements.push_back(tensor.params);
  }
  std::vector<std::vector<KeyPart>> parts(elements.size());
  std::int64_t total = 0;
  for (const Shard& shard : servers.sharding->shards(elements, servers.count)) {
    parts[static_cast<std::size_t>(shard.key)].push_back({shard.server, total, shard.elements});
    total += shard.elements;
  }
  const auto learnt = [&](std::int64_t element) {  // 128 bits: the product may exceed 64
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>(static_cast<Wide>(element) * parameters /
                                    static_cast<Wide>(std::max<std::int64_t>(total, 1)));
  };
  const auto keys = keys_of_units(workload, units, granularity);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    std::map<std::int32_t, Piece> by_server;
    for (std::int32_t u = 0; u < buckets[b].units; ++u) {
      for (const std::size_t key : keys[static_cast<std::size_t>(buckets[b].first_unit + u)]) {
        for (const KeyPart& part : parts[key]) {
          Piece& piece = by_server[part.server];
          piece.server = part.server;
          piece.bytes += Bytes{part.elements * workload.bytes_per_param};
          const ParameterRange range{learnt(part.begin), learnt(part.begin + part.elements)};
          if (range.end > range.begin) piece.ranges.push_back(range);
        }
      }
    }
    for (auto& [server, piece] : by_server)
      pieces[b].push_back(std::move(piece));
  }
  return pieces;
}

double TrainingTimes::mean_staleness() const {
  double updates = 0;
  double sum = 0;
  for (std::size_t s = 0; s < staleness.size(); ++s) {
    updates += static_cast<double>(staleness[s]);
    sum += static_cast<double>(s) * static_cast<double>(staleness[s]);
  }
  return updates > 0 ? sum / updates : 0;
}

}  // namespace steptime
