// A pipeline of stages, one forward and one backward (1F1B), a strategy that is not shipped: a
// stage is a tensor group, whose ranks add up what every pass makes, and each rank is in a data
// group with its like of the other replicas.
#pragma once
#include "sim/runtime/group.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <cstddef>

namespace steptime {

/// What a rank does for a micro-batch, and at the end.
struct PipelineWork {
  Duration forward{};
  Duration backward{};
  Bytes activations;  ///< kept until the backward pass; added up in the tensor group by each pass
  Bytes gradients;    ///< added up in the data group behind all passes
};

class PipelineRank {
 public:
  struct Place {
    Group& tensor;
    std::size_t in_tensor;  ///< which member of it
    Group& data;
    std::size_t in_data;
    int behind;            ///< how many stages are
    PipelineRank* before;  ///< its like in the stage before; null: there is none
  };
  PipelineRank(World& world, const PipelineWork& work, const Place& place)
      : world_(world), work_(work), place_(place) {
    if (place.before != nullptr) place.before->next_ = this;
  }
  const Memory& memory() const { return memory_; }
  Time computed() const { return computed_; }

  /// Megatron-LM pipeline_parallel/schedules.py, forward_backward_pipelining_without_interleaving.
  Task train(int micro_batches) {
    const int warm_up = std::min(micro_batches, place_.behind);
    for (int f = 0; f < warm_up; ++f)
      co_await forward(f);
    for (int f = warm_up; f < micro_batches; ++f) {
      co_await forward(f);
      co_await backward(f - warm_up);
    }
    for (int b = micro_batches - warm_up; b < micro_batches; ++b)
      co_await backward(b);
    computed_ = world_.now();
    co_await place_.data.call(place_.in_data, work_.gradients);
  }

 private:
  Task forward(int micro_batch) {
    if (place_.before != nullptr) co_await inputs_.at_least(micro_batch + 1);
    memory_.acquire(work_.activations.count);
    co_await world_.pause(work_.forward, {});
    co_await place_.tensor.call(place_.in_tensor, work_.activations);
    if (next_ != nullptr) next_->inputs_.add();
  }
  Task backward(int micro_batch) {
    if (next_ != nullptr) co_await gradients_.at_least(micro_batch + 1);
    co_await world_.pause(work_.backward, {});
    co_await place_.tensor.call(place_.in_tensor, work_.activations);
    memory_.release(work_.activations.count);
    if (place_.before != nullptr) place_.before->gradients_.add();
  }

  World& world_;
  PipelineWork work_;
  Place place_;
  PipelineRank* next_ = nullptr;
  Memory memory_;
  Counter inputs_{world_, {"activations from the stage before"}};
  Counter gradients_{world_, {"gradients from the stage behind"}};
  Time computed_{};
};

}  // namespace steptime
