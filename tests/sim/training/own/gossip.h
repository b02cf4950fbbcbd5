// Gossip averaging, a strategy that is not shipped: behind each step a worker and a random
// neighbour on a ring send each other their parameters, and both keep the average (Lian et al.,
// 1710.06952, asynchronous decentralized SGD).
#pragma once
#include "sim/core/random.h"
#include "sim/network/network.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace steptime {

class Gossip final : private MessageSink {
 public:
  /// `values`: what each worker's parameters are before the first step, one number for all of them;
  /// on the network a worker is the endpoint of its number, and they are `size` bytes.
  Gossip(World& world, Network& network, Duration compute, std::int64_t size,
         std::vector<double> values)
      : world_(world),
        network_(network),
        compute_(compute),
        size_(size),
        values_(std::move(values)) {
    for (std::int64_t i = 0; i < std::ssize(values_); ++i) {
      free_.emplace_back(world, Name{"parameters of worker", i}, 1);
      swapped_.emplace_back(world, Name{"averages of worker", i});
    }
  }
  const std::vector<double>& values() const { return values_; }

  /// Which of its two neighbours on the ring it meets.
  std::size_t neighbour(std::size_t me, std::uint32_t step) const {
    const bool left = random_.uniform(static_cast<std::uint32_t>(me), step) < 0.5;
    return (me + (left ? values_.size() - 1 : 1)) % values_.size();
  }

  Task worker(std::size_t me, std::uint32_t steps) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      co_await world_.pause(compute_, {});
      const std::size_t other = neighbour(me, step);
      co_await free_[std::min(me, other)].acquire();  // both in one order: nobody waits in a circle
      co_await free_[std::max(me, other)].acquire();
      swapped_[me].expect(2);
      send(me, other, me);
      send(other, me, me);
      co_await swapped_[me].all();
      values_[me] = values_[other] = (values_[me] + values_[other]) / 2;
      free_[me].release();
      free_[other].release();
    }
  }

 private:
  void send(std::size_t from, std::size_t to, std::size_t who) {
    network_.send({this, static_cast<Endpoint>(from), static_cast<Endpoint>(to), size_,
                   static_cast<std::int32_t>(who)});
  }
  void delivered(const Message& message) override {
    swapped_[static_cast<std::size_t>(message.sender)].came(world_.present());
  }

  World& world_;
  Network& network_;
  Duration compute_;
  std::int64_t size_;
  std::vector<double> values_;
  std::deque<Pool> free_;
  std::deque<Gather> swapped_;
  RandomStream random_{1, Purpose::kTest};
};

}  // namespace steptime
