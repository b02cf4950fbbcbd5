#include "sim/step/step.h"

#include "sim/collective/message_time.h"
#include "sim/collective/stage_reasons.h"
#include "sim/core/error.h"
#include "sim/core/fingerprint.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Four independent lanes, so that hashing does not become the critical path of the recurrence.
class StepHash {
 public:
  StepHash(Duration forward, Duration backward) {
    lanes_[0] = mix(lanes_[0], static_cast<std::uint64_t>(forward.count()));
    lanes_[1] = mix(lanes_[1], static_cast<std::uint64_t>(backward.count()));
  }
  void add(std::size_t bucket, Duration end) {
    std::uint64_t& lane = lanes_[bucket % kLanes];
    lane = mix(lane, static_cast<std::uint64_t>(end.count()));
  }
  std::uint64_t value() const {
    std::uint64_t hash = kFingerprintSeed;
    for (const std::uint64_t lane : lanes_)
      hash = mix(hash, lane);
    return hash;
  }

 private:
  static constexpr std::size_t kLanes = 4;
  std::array<std::uint64_t, kLanes> lanes_{kFingerprintSeed, kFingerprintSeed, kFingerprintSeed,
                                           kFingerprintSeed};
};

template <class OnEnd>
StepTimes recurrence(const StepPlan& plan, OnEnd on_end) {
  StepHash hash(plan.forward, plan.backward);
  Duration free{};  // when the channel is free
  Duration busy{};
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const Bucket& bucket = plan.buckets[i];
    free = std::max(free, bucket.ready) + bucket.cost;
    busy += bucket.cost;
    hash.add(i, free);
    on_end(i, free);
  }
  const Duration compute = plan.forward + plan.backward;
  const Duration step = std::max(compute, free);
  return {step, busy, step - compute, hash.value()};
}

}  // namespace

std::uint64_t step_fingerprint(Duration forward, Duration backward,
                               std::span<const Duration> ends) {
  StepHash hash(forward, backward);
  for (std::size_t i = 0; i < ends.size(); ++i)
    hash.add(i, ends[i]);
  return hash.value();
}

void check_step_length(double seconds) {
  constexpr double kLimit = 4e6;  // half the range of simulated time: no sum of a step can leave it
  if (seconds > kLimit) {
    throw RangeError(fmt::format("one step takes {} s, more than the {} s that can be simulated",
                                 seconds, kLimit));
  }
}

namespace {

void check_parts(double parts) {
  constexpr double kMost = 1e5;
  if (parts <= kMost) return;
  throw PlacedError(
      fmt::format("/strategy/schedule: about {:.1g} parts of one gradient, at most {:.0g}; larger "
                  "parts are fewer",
                  parts, kMost));
}

}  // namespace

StepPlan plan_step(const Workload& workload, std::span<const GradientUnit> units,
                   const BucketPlan& plan, const Collective& collective, std::int64_t workers) {
  StepPlan step{workload.trace.forward(), workload.trace.backward(), {}, plan.after_backward};
  double seconds = to_seconds(step.forward) + to_seconds(step.backward);
  check_step_length(seconds);
  if (workers == 1) return step;
  const std::int64_t planned =
      std::accumulate(plan.sizes.begin(), plan.sizes.end(), std::int64_t{0});
  STEPTIME_CHECK(planned == static_cast<std::int64_t>(units.size()),
                 "a plan must cover every gradient, once");
  std::int32_t unit = 0;
  step.buckets.reserve(plan.sizes.size());
  for (const std::int32_t size : plan.sizes) {
    Bucket bucket{.first_unit = unit, .units = size};
    for (; unit < bucket.first_unit + size; ++unit)
      bucket.bytes += units[unit].bytes;
    bucket.ready = step.forward + (plan.after_backward ? step.backward : units[unit - 1].ready);
    const Bytes end = bucket.bytes;
    const Bytes longest = size == 1 ? plan.longest.value_or(end) : end;
    if (end > longest)
      check_parts(static_cast<double>(end.count) / static_cast<double>(longest.count));
    do {
      bucket.bytes = std::min(longest, end - bucket.offset);
      bucket.cost = collective.time(bucket.bytes);
      seconds += to_seconds(bucket.cost);
      step.buckets.push_back(bucket);
      bucket.offset += bucket.bytes;
    } while (bucket.offset < end);
  }
  check_step_length(seconds);
  return step;
}

StepTimes closed_step(const StepPlan& plan, std::span<Duration> ends) {
  return recurrence(plan, [&](std::size_t i, Duration end) { ends[i] = end; });
}

StepTimes closed_step(const StepPlan& plan) {
  return recurrence(plan, [](std::size_t, Duration) {});
}

std::vector<Cause> attribution(const StepPlan& plan, const Collective& collective, bool plays) {
  Causes causes;
  Engine engine(&causes);
  const StageReasons reasons(engine);
  const Reason backward = engine.reason("backward pass", "GPU");
  const When middle = engine.until(When{}, plan.forward, engine.reason("forward pass", "GPU"));
  When free{};
  for (const Bucket& bucket : plan.buckets) {
    const When ready = engine.until(middle, Time(bucket.ready), backward);
    free = reasons.end(engine, later(ready, free), collective, bucket.bytes, bucket.cost, plays);
  }
  const When computed = engine.until(middle, plan.backward, backward);
  return causes.attribution({later(computed, free)}, 1);
}

void play_buckets(StepPlan& plan, const Cluster& cluster, const Collective& collective,
                  const OnProgress& on_progress) {
  if (plan.buckets.empty()) return;
  MessageTimes times(cluster, collective);
  std::vector<Bytes> sizes;
  for (const Bucket& bucket : plan.buckets)
    sizes.push_back(bucket.bytes);
  times.play(sizes, on_progress);
  double seconds = to_seconds(plan.forward + plan.backward);
  for (Bucket& bucket : plan.buckets) {
    bucket.cost = times.time(bucket.bytes);
    seconds += to_seconds(bucket.cost);
  }
  check_step_length(seconds);
}

}  // namespace steptime
