#include "sim/step/step.h"

#include "sim/collective/message_time.h"
#include "sim/collective/stage_reasons.h"
#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/core/limits.h"
#include "sim/step/pass_reasons.h"

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

/// When the last all-reduce and the backward pass are over.
struct Ends {
  Duration communicated{};
  Duration computed{};
};

template <class OnBucket>
Ends recurrence(const StepPlan& plan, OnBucket on_bucket) {
  Duration free{};  // when the channel is free
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const Bucket& bucket = plan.buckets[i];
    const Duration start = std::max(free, bucket.ready);
    free = start + bucket.cost;
    on_bucket(i, BucketTimes{bucket.ready, start, free});
  }
  return {free, plan.forward + plan.backward};
}

/// Where compute and all-reduces slow each other down. When something was computed, the changes of
/// speed until then say: those behind its end are none of it.
template <class OnBucket>
Ends shared_recurrence(const StepPlan& plan, OnBucket on_bucket) {
  SharedCompute compute;
  compute.begin(Time{}, plan.forward + plan.backward);
  Time free{};
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const Bucket& bucket = plan.buckets[i];
    const Slowdown slowdown = plan.beside[i];
    const Time ready = compute.when(bucket.ready);
    const Time start = std::max(free, ready);
    if (compute.end() > start) compute.change(start, slowdown.compute);
    if (compute.end() < Time{}) refuse_range();  // it has left the range of simulated time
    free = time_after(
        start, checked_add(bucket.cost, compute.longer(start, bucket.cost, slowdown.collective)));
    if (compute.end() > free) compute.change(free, 1);
    on_bucket(i, BucketTimes{since_start(ready), since_start(start), since_start(free)});
  }
  return {since_start(free), since_start(compute.end())};
}

template <class OnBucket>
Ends ends_of(const StepPlan& plan, OnBucket on_bucket) {
  return plan.beside.empty() ? recurrence(plan, on_bucket) : shared_recurrence(plan, on_bucket);
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
  if (seconds > kLongestSeconds) {
    throw RangeError(fmt::format("one step takes {} s, more than the {} s that can be simulated",
                                 seconds, kLongestSeconds));
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

/// By bucket; none where there is none.
std::vector<Slowdown> slowdowns(const Workload& workload, std::span<const Bucket> buckets,
                                const Overlap::Pair& collective) {
  std::vector<Slowdown> beside;
  const bool all_alike = &collective.alone == &collective.beside_kernels;
  for (std::size_t i = 0; workload.overlap && i < buckets.size(); ++i) {
    const Slowdown slowdown =
        workload.overlap->beside(collective, buckets[i].bytes, workload.trace.multiprocessors);
    if (!slowdown.any() && all_alike) break;
    if (!slowdown.any()) continue;
    beside.resize(buckets.size());
    beside[i] = slowdown;
  }
  return beside;
}

}  // namespace

StepPlan plan_step(const Workload& workload, const PassTimes& passes,
                   std::span<const GradientUnit> units, const BucketPlan& plan,
                   const Collective& collective, std::int64_t workers,
                   const Collective* beside_kernels) {
  StepPlan step{.forward = passes.forward,
                .backward = passes.backward,
                .after_backward = plan.after_backward,
                .forward_wait = workload.trace.forward_wait,
                .backward_wait = workload.trace.backward_wait};
  double length = static_cast<double>(step.forward.count()) +
                  static_cast<double>(step.backward.count());  // ps, of all one after the other
  check_step_length(length / 1e12);
  if (workers == 1) return step;
  const auto send = [&](Bucket& bucket) {
    bucket.cost = collective.time(bucket.bytes);
    length += static_cast<double>(bucket.cost.count());
    step.buckets.push_back(bucket);
  };
  std::size_t unit = 0;
  step.buckets.reserve(plan.sizes.size());
  for (const std::int32_t size : plan.sizes) {
    Bucket bucket{.first_unit = static_cast<std::int32_t>(unit), .units = size};
    const std::size_t next = unit + static_cast<std::size_t>(size);
    STEPTIME_CHECK(next <= units.size(), "a plan must cover every gradient, once");
    for (; unit < next; ++unit)
      bucket.bytes += units[unit].bytes;
    bucket.ready = step.forward + (plan.after_backward ? step.backward : units[unit - 1].ready);
    if (size > 1 || !plan.longest || bucket.bytes <= *plan.longest) {
      send(bucket);
      continue;
    }
    const Bytes end = bucket.bytes;
    check_parts(static_cast<double>(end.count) / static_cast<double>(plan.longest->count));
    for (; bucket.offset < end; bucket.offset += bucket.bytes) {
      bucket.bytes = std::min(*plan.longest, end - bucket.offset);
      send(bucket);
    }
  }
  STEPTIME_CHECK(unit == units.size(), "a plan must cover every gradient, once");
  check_step_length(length / 1e12);
  step.beside = slowdowns(
      workload, step.buckets,
      {.alone = collective, .beside_kernels = beside_kernels ? *beside_kernels : collective});
  return step;
}

Duration input_time(const Workload& workload, std::int64_t gpus_per_node) {
  if (!workload.input_rate) return {};
  const std::int64_t samples = gpus_per_node * workload.trace.batch;
  const double seconds = static_cast<double>(samples) / *workload.input_rate;
  constexpr double kMost = 1e6;  // as compute may take at most
  if (!(seconds <= kMost)) {
    throw PlacedError(fmt::format("/workload/input: the samples of a step take {} s, at most {} s",
                                  seconds, kMost));
  }
  return from_seconds(seconds);
}

StepTimes closed_step(const StepPlan& plan) {
  StepHash hash(plan.forward, plan.backward);
  Duration busy{};
  const Ends ends = ends_of(plan, [&](std::size_t i, const BucketTimes& times) {
    busy += times.end - times.start;
    hash.add(i, times.end);
  });
  const Duration over = std::max(ends.computed, ends.communicated);
  const Duration step = std::max(over, plan.input);
  const Duration compute = plan.forward + plan.backward;
  return {step, busy, over - compute, hash.value(), step - over, compute};
}

std::vector<BucketTimes> bucket_times(const StepPlan& plan) {
  std::vector<BucketTimes> all(plan.buckets.size());
  ends_of(plan, [&](std::size_t i, const BucketTimes& times) { all[i] = times; });
  return all;
}

StepTimes played_step(const StepPlan& plan, std::span<const BucketTimes> buckets, Duration step,
                      Duration input) {
  StepHash hash(plan.forward, plan.backward);
  Duration busy{};
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    busy += buckets[i].end - buckets[i].start;
    hash.add(i, buckets[i].end);
  }
  const Duration compute = plan.forward + plan.backward;
  return {step, busy, step - input - compute, hash.value(), input, compute};
}

std::vector<Cause> attribution(const StepPlan& plan, const Collective& collective) {
  Causes causes;
  Engine engine(&causes);
  const StageReasons reasons(engine);
  const OverlapReasons overlap(engine);
  const PassReasons backward(engine, "backward pass", plan.backward_wait);
  const When middle = PassReasons(engine, "forward pass", plan.forward_wait)
                          .until(engine, When{}, Time(plan.forward));
  /// What takes `alone` by itself, but lasts until `end` beside collectives.
  const auto computed = [&](Duration alone, Duration end) {
    const When by_itself = backward.until(engine, middle, Time(std::min(alone, end)));
    return engine.until(by_itself, Time(end), overlap.compute);
  };
  When free{};
  const Ends ends = ends_of(plan, [&](std::size_t i, const BucketTimes& times) {
    const Bucket& bucket = plan.buckets[i];
    const When ready = computed(bucket.ready, times.ready);
    free = reasons.end(engine, later(ready, free), collective, bucket.bytes, bucket.cost,
                       plan.played.empty() ? nullptr : &plan.played[i]);
    free = engine.until(free, Time(times.end), overlap.collective);
  });
  const When over = later(computed(plan.forward + plan.backward, ends.computed), free);
  const Time next = std::max(over.time, Time(plan.input));
  return causes.attribution({engine.until(over, next, engine.reason("input", "input pipeline"))},
                            1);
}

void play_buckets(StepPlan& plan, const Cluster& cluster, const Collective& collective,
                  bool tells_parts, const OnProgress& on_progress) {
  if (plan.buckets.empty()) return;
  MessageTimes times(cluster, collective, tells_parts);
  std::vector<Bytes> sizes;
  for (const Bucket& bucket : plan.buckets)
    sizes.push_back(bucket.bytes);
  times.play(sizes, on_progress);
  double seconds = to_seconds(plan.forward + plan.backward);
  for (Bucket& bucket : plan.buckets) {
    bucket.cost = times.time(bucket.bytes);
    if (tells_parts) plan.played.push_back(times.parts(bucket.bytes));
    seconds += to_seconds(bucket.cost);
  }
  check_step_length(seconds);
}

}  // namespace steptime
