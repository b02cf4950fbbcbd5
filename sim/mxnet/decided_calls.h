// All-reduces of which a policy decides while steps run, as the background threads of Horovod and
// ByteScheduler do. A rank's call hands a key over, and returns when the message is through that
// the key travels in. The policy hears of a key when all ranks have called for it, so that ranks
// may call in any order.
// Source: horovod v0.15.2 horovod/mxnet/mpi_ops.cc: an asynchronous operation of the engine, which
// the background thread ends.
#pragma once
#include "sim/mxnet/rank_calls.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/step/schedule.h"
#include "sim/training/decider.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace steptime {

class DecidedCalls final : public KeyCalls, private Group::Watch {
 public:
  /// `buckets`: what the policy decides on, key by key from the last one to the first. `medium`:
  /// what messages go through, one after another. All references must outlive this.
  DecidedCalls(World& world, std::unique_ptr<Policy> policy, std::span<const Bucket> buckets,
               std::unique_ptr<Medium> medium, std::int32_t ranks, CallListener& listener);

  /// It has a name by its key.
  std::uint64_t call(std::int32_t rank, CallSubject subject, When when, Callback returns) override;
  Time returns_not_before(std::uint64_t key) const override;
  void expect_over() const override { messages_.medium().expect_over(); }
  std::vector<StuckCall> stuck() const override;

 private:
  /// The calls for a key in a step.
  struct Calls {
    std::int64_t step = 0;
    When last{};
    std::vector<std::pair<std::int32_t, Callback>>
        made{};  ///< the ranks that have called, and what returns to each
  };
  std::int32_t key_of(std::int32_t bucket) const {
    return static_cast<std::int32_t>(calls_.size()) - 1 - bucket;
  }
  Calls& calls_for(std::int32_t key) { return calls_[static_cast<std::size_t>(key)]; }
  void began(std::int64_t message, Bytes bytes) override;
  void ended(std::int64_t message, Bytes bytes, Time start) override;

  World& world_;
  std::size_t ranks_;
  CallListener& listener_;
  Group messages_;  ///< one member stands for the ranks, which all have called
  Decider decider_;
  std::vector<Calls> calls_;  ///< by key
};

}  // namespace steptime
