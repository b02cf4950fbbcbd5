// When gradients are communicated, and which of them together. A schedule decides, it never acts:
// sim/step/step.h and sim/training/plan.h carry the decisions out. Implemented in schedulers/,
// one file each.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// What is never parted on its way: one gradient unit or several neighbouring ones, or a part of
/// one unit.
struct Bucket {
  std::int32_t first_unit = 0;  ///< index into the units
  std::int32_t units = 0;
  Bytes offset{};  ///< where a part of a unit begins in that unit
  Bytes bytes;
  Duration ready{};  ///< when its last gradient exists, after the start of the step
  Duration cost{};   ///< how long its all-reduce takes when it travels by itself

  /// Its part of a list with an entry for each unit.
  template <class List>
  auto of(const List& list) const {
    return std::span(list).subspan(static_cast<std::size_t>(first_unit),
                                   static_cast<std::size_t>(units));
  }
};

/// A partition of the gradient units, in the order in which they become ready, into buckets.
struct BucketPlan {
  /// Number of units of each bucket; adds up to the number of units, none is zero.
  std::vector<std::int32_t> sizes;
  /// Every bucket waits for the end of the backward pass; else for its own last unit.
  bool after_backward = false;
  /// A bucket of one unit with more bytes than this becomes several, all but the last of this size;
  /// none: no limit.
  std::optional<Bytes> longest{};
};

/// Decides while steps run which buckets travel next. It hears what has happened and answers when
/// it is asked, once everything of the instant has happened; it never acts. Every client has one of
/// its own, from the first step of a run to the last.
class Policy {
 public:
  virtual ~Policy() = default;
  /// The gradients of a bucket exist on all workers.
  virtual void ready(std::int32_t bucket, Time now) = 0;
  /// What an answer of `next` sent is through: its sum is on all workers, or with servers these
  /// have all of it.
  virtual void arrived(std::span<const std::int32_t> buckets, Time now) = 0;
  /// What an answer of `next` sent is on a stream of the GPUs, where a library launches it: who was
  /// inside the call goes on. It arrives later.
  virtual void launched(std::span<const std::int32_t> /*buckets*/, Time /*now*/) {}
  /// The buckets to send now, as one message; none: nothing as things stand. Asked again until it
  /// answers none. What is sent goes to the transport's streams in this order.
  virtual std::vector<std::int32_t> next(Time now) = 0;
  /// When to ask again even if nothing happens until then.
  virtual std::optional<Time> wake() const { return std::nullopt; }
};

class Schedule {
 public:
  static constexpr const char* kNoun = "schedule";
  explicit Schedule(Granularity granularity) : granularity_(granularity) {}
  virtual ~Schedule() = default;
  Granularity granularity() const { return granularity_; }
  /// The buckets, known before the step begins. `units` in the order in which they become ready;
  /// `collective` is what a message costs.
  virtual BucketPlan plan(std::span<const GradientUnit> units,
                          const Collective& collective) const = 0;
  /// Who decides while the steps run. None: every bucket is sent as soon as it is ready, in the
  /// order of the plan, so that a step is a recurrence (sim/step/step.h).
  virtual std::unique_ptr<Policy> policy(std::span<const Bucket> /*buckets*/) const {
    return nullptr;
  }
  /// Whether its policy makes one message of several buckets.
  virtual bool fuses() const { return false; }
  /// Whether a layer of the next forward pass waits for its own gradients only; else the whole pass
  /// waits for all.
  virtual bool layers_wait_for_their_own() const { return false; }
  /// Whether its plan is the best one only where all-reduces go one after another, in step, and
  /// cost kernels nothing.
  virtual bool plans_for_the_recurrence() const { return false; }
  /// Whether gradients are copied into buckets and back (sim/workload/bucket_copies.h).
  virtual bool copies_gradients() const { return false; }
  /// Steps that a mean step time needs, when the config does not say.
  virtual std::int64_t default_steps() const { return 1; }

 private:
  Granularity granularity_;
};
using Schedules = Registry<Schedule>;

/// Another schedule in all but its plans.
class Replanned : public Schedule {
 public:
  explicit Replanned(std::shared_ptr<const Schedule> of)
      : Schedule(of->granularity()), of_(std::move(of)) {}
  std::unique_ptr<Policy> policy(std::span<const Bucket> buckets) const override {
    return of_->policy(buckets);
  }
  bool fuses() const override { return of_->fuses(); }
  bool layers_wait_for_their_own() const override { return of_->layers_wait_for_their_own(); }
  bool plans_for_the_recurrence() const override { return of_->plans_for_the_recurrence(); }
  bool copies_gradients() const override { return of_->copies_gradients(); }
  std::int64_t default_steps() const override { return of_->default_steps(); }

 protected:
  const Schedule& of() const { return *of_; }

 private:
  std::shared_ptr<const Schedule> of_;
};

/// The key that every schedule has: which gradients can never be parted.
Param granularity_param();
Granularity read_granularity(const Config& config);

}  // namespace steptime
