// A policy that hears of gradients cycle by cycle only, as the background thread of Horovod does.
#pragma once
#include "sim/step/schedule.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace steptime {

/// A cycle begins at max(end of the one before, its begin + `cycle`), not at a multiple of the
/// cycle time, or with a pause after the end at end + `cycle`, and takes what is ready then, a
/// gradient of that very instant included. After the negotiation `inside` hears of that, and what
/// it sends travels one after another. The cycle ends when `inside` has nothing more to send.
/// Source: horovod v0.15.2 horovod/common/operations.cc RunLoopOnce.
class Cycles final : public Policy {
 public:
  /// How long workers take to agree on so many gradients, from a cycle's begin on; an empty cycle
  /// takes negotiation(0).
  using Negotiation = std::function<Duration(std::size_t gradients)>;
  enum class Pause { kFromBegin, kAfterEnd };
  Cycles(std::unique_ptr<Policy> inside, Duration cycle, Negotiation negotiation,
         Pause pause = Pause::kFromBegin);

  void ready(std::int32_t bucket, Time now) override;
  void arrived(std::span<const std::int32_t> buckets, Time now) override;
  void launched(std::span<const std::int32_t> buckets, Time now) override;
  std::vector<std::int32_t> next(Time now) override;
  std::optional<Time> wake() const override { return wake_; }

 private:
  Time first_begin(Time now) const;
  void wake_at(Time time);

  std::unique_ptr<Policy> inside_;
  Duration cycle_;
  Negotiation negotiation_;
  Pause pause_;
  Duration idle_;                        ///< from an empty cycle to the next
  std::vector<std::int32_t> waiting_;    ///< for the next cycle
  std::vector<std::int32_t> agreed_on_;  ///< in the present one, from `agreed_` on
  Time agreed_{};
  std::size_t under_way_ = 0;  ///< gradients whose message the thread is inside of
  bool is_open_ = false;       ///< a cycle has begun, and not ended
  Time begin_{};  ///< when the present cycle began, or the earliest time at which the next one can
  std::optional<Time> wake_{};
};

/// A policy whose messages a library launches: it is told so as soon as it has sent one.
class Launched final : public Policy {
 public:
  explicit Launched(std::unique_ptr<Policy> of) : of_(std::move(of)) {}
  void ready(std::int32_t bucket, Time now) override { of_->ready(bucket, now); }
  void arrived(std::span<const std::int32_t> buckets, Time now) override {
    of_->arrived(buckets, now);
  }
  std::vector<std::int32_t> next(Time now) override {
    auto sent = of_->next(now);
    if (!sent.empty()) of_->launched(sent, now);
    return sent;
  }
  std::optional<Time> wake() const override { return of_->wake(); }

 private:
  std::unique_ptr<Policy> of_;
};

/// Buckets one by one, in the order in which they become ready.
class InOrder final : public Policy {
 public:
  void ready(std::int32_t bucket, Time) override { waiting_.push_back(bucket); }
  void arrived(std::span<const std::int32_t>, Time) override {}
  std::vector<std::int32_t> next(Time) override {
    if (next_ == waiting_.size()) return {};
    return {waiting_[next_++]};
  }

 private:
  std::vector<std::int32_t> waiting_;
  std::size_t next_ = 0;
};

}  // namespace steptime
