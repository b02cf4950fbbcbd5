// A policy at work: who decides while steps run what a group reduces next. It hears of a gradient
// when all members have it, and is asked at the end of an instant in which anything has happened,
// behind what the members' own engines decide then.
#pragma once
#include "sim/events/engine.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/step/schedule.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace steptime {

class Decider {
 public:
  /// `buckets`: what the policy decides on. All must outlive this.
  Decider(World& world, Group& group, std::unique_ptr<Policy> policy,
          std::span<const Bucket> buckets);
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;

  /// A member has a bucket's gradients.
  void ready(std::int32_t bucket);
  /// What an answer of the policy sent is through.
  void arrived(std::span<const std::int32_t> buckets);
  /// Asks the policy once all of this instant has happened.
  void decide();
  /// The buckets of a call of the group, which is not over.
  std::span<const std::int32_t> sent(std::int64_t call) const {
    return sent_[static_cast<std::size_t>(call - first_)].buckets;
  }
  /// The same of one that is over.
  std::vector<std::int32_t> take(std::int64_t call);

 private:
  struct Sent {
    std::vector<std::int32_t> buckets;
    bool is_over = false;
  };
  void ask();

  World& world_;
  Group& group_;
  std::unique_ptr<Policy> policy_;
  std::span<const Bucket> buckets_;
  Reason timer_;
  std::vector<std::size_t> come_;  ///< members that have a bucket, by bucket
  std::deque<Sent> sent_;          ///< calls of the group, from number first_ on
  std::int64_t first_ = 0;
  bool decides_ = false;  ///< at this instant
  std::optional<Time> wakes_{};
};

}  // namespace steptime
