// Whole keys, each to the server with the fewest elements so far.
//
// Parameters: order, "given": keys in forward order, as TensorFlow's GreedyLoadBalancingStrategy by
// bytes does, to the lowest number among equals; "largest-first": by size, equal sizes in forward
// order, as MXNet's device kvstore places merge buffers on GPUs, which among equals takes the one
// that comes last in the iteration of an unordered_map: of up to 13 GPUs the lowest number, of 16
// GPU 12; moving_averages, as for round-robin.
// Validation: tests/data/commdevice_merge_buffers.json (largest-first).
// Source: tensorflow/contrib/training/python/training/device_setter.py; apache/mxnet 1.3.1
// src/kvstore/comm.h InitMergeBuffer, where the order of equal sizes is not defined.
#include "netmodels/sharding/moving_averages.h"
#include "sim/servers/sharding.h"

#include <algorithm>
#include <array>
#include <cstdint>
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

/// Numbers 0 ... count - 1 as libstdc++'s unordered_map iterates over them when they were inserted
/// in this order: an insertion goes to the front, and whenever the buckets are too few, which are
/// the least prime number of them at least twice as large as before, all move over from the front,
/// which turns them round.
std::vector<std::int32_t> hash_order(std::int64_t count) {
  constexpr std::array<std::int64_t, 13> kBuckets{13,   29,   59,    127,   257,   541,  1109,
                                                  2357, 5087, 10273, 20753, 42043, 85229};
  std::vector<std::int32_t> reversed;  // the front is its end
  for (std::int32_t number = 0; number < count; ++number) {
    if (std::find(kBuckets.begin(), kBuckets.end(), number) != kBuckets.end())
      std::reverse(reversed.begin(), reversed.end());
    reversed.push_back(number);
  }
  return {reversed.rbegin(), reversed.rend()};
}

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
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(servers));
    std::iota(numbers.begin(), numbers.end(), 0);
    if (largest_first_) {
      numbers = hash_order(servers);
      std::reverse(numbers.begin(), numbers.end());
    }
    std::vector<std::int64_t> load(numbers.size());  // of numbers[i]
    std::vector<Shard> all(elements.size());
    for (const std::size_t k : order) {
      const auto least = std::min_element(load.begin(), load.end());
      *least += elements[k];
      all[k] = {static_cast<std::int32_t>(k),
                numbers[static_cast<std::size_t>(least - load.begin())], elements[k]};
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
