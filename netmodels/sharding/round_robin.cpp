// TensorFlow's default placement: variables to parameter-server tasks in turn, each whole.
//
// Parameters: moving_averages, whether those of batch normalisations take their turns, as in
// TensorFlow they do: they are variables as others are, created behind beta and gamma.
// Source: tensorflow/python/training/device_setter.py, _RoundRobinStrategy.
#include "netmodels/sharding/moving_averages.h"
#include "sim/servers/sharding.h"

#include <memory>
#include <span>
#include <vector>

namespace steptime {
namespace {

const Params kParams{moving_averages_param()};

class RoundRobin final : public Sharding {
 public:
  explicit RoundRobin(bool moving_averages) : moving_averages_(moving_averages) {}

  bool places_moving_averages() const override { return moving_averages_; }

  std::vector<Shard> shards(std::span<const std::int64_t> elements,
                            std::int64_t servers) const override {
    std::vector<Shard> all;
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const auto server = static_cast<std::int64_t>(k) % servers;
      all.push_back({static_cast<std::int32_t>(k), static_cast<std::int32_t>(server), elements[k]});
    }
    return all;
  }

 private:
  bool moving_averages_;
};

const bool kRegistered = Shardings::instance().add(
    "round-robin", "whole keys to the servers in turn, as in TensorFlow", kParams,
    [](const Config& c) { return std::make_unique<RoundRobin>(c.get<bool>(kMovingAverages)); });

}  // namespace
}  // namespace steptime
