// Whole keys, each to the server with the fewest elements so far (the lowest number among equals).
//
// Parameters: order, "given": keys in forward order, as TensorFlow's GreedyLoadBalancingStrategy by
// bytes does; "largest-first": by size, equal sizes in forward order, as MXNet's device kvstore
// places merge buffers on GPUs; moving_averages, as for round-robin.
// Validation: tests/data/commdevice_merge_buffers.json (largest-first).
// Source: tensorflow/contrib/training/python/training/device_setter.py; apache/mxnet 1.3.1
// src/kvstore/comm.h InitMergeBuffer, where the order of equal sizes is not defined.
#include "netmodels/sharding/moving_averages.h"
#include "sim/servers/sharding.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace steptime {
namespace {

const Params kParams{{.key = "order",
                      .kind = Kind::kText,
                      .help = "in which keys are placed",
                      .need = Need::kDefault,
                      .fallback = "given",
                      .words = {"given", "largest-first"}},
                     moving_averages_param()};

class Greedy final : public Sharding {
 public:
  Greedy(bool largest_first, bool moving_averages)
      : largest_first_(largest_first), moving_averages_(moving_averages) {}

  bool places_moving_averages() const override { return moving_averages_; }

  std::vector<Shard> shards(std::span<const std::int64_t> elements,
                            std::int64_t servers) const override {
    std::vector<std::size_t> order(elements.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (largest_first_) {
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t x, std::size_t y) { return elements[x] > elements[y]; });
    }
    std::vector<std::int64_t> load(static_cast<std::size_t>(servers));
    std::vector<Shard> all(elements.size());
    for (const std::size_t k : order) {
      const auto least = std::min_element(load.begin(), load.end());
      *least += elements[k];
      all[k] = {static_cast<std::int32_t>(k), static_cast<std::int32_t>(least - load.begin()),
                elements[k]};
    }
    return all;
  }

 private:
  bool largest_first_;
  bool moving_averages_;
};

const bool kRegistered = Shardings::instance().add(
    "greedy", "whole keys to the least loaded server", kParams, [](const Config& c) {
      return std::make_unique<Greedy>(c.get<std::string>("order") == "largest-first",
                                      c.get<bool>(kMovingAverages));
    });

}  // namespace
}  // namespace steptime
