// event_step: the step played on the event engine.
#include "sim/core/error.h"
#include "sim/events/engine.h"
#include "sim/step/step.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

class StepPlayer {
 public:
  StepPlayer(const StepPlan& plan, const Workload& workload, std::span<const GradientUnit> units,
             std::int64_t steps, Timeline* timeline)
      : plan_(plan),
        layers_(workload.trace.layers),
        forward_total_(workload.trace.forward_total),
        units_(units),
        steps_left_(steps),
        timeline_(timeline),
        ends_(plan.buckets.size()) {
    if (timeline_ != nullptr) {
      compute_track_ = timeline_->add_track("compute");
      comm_track_ = timeline_->add_track("communication");
    }
  }

  StepTimes play() {
    engine_.at(Time{}, Phase::kNormal, [this] { start_step(); });
    engine_.run();
    STEPTIME_CHECK(steps_left_ == 0 && next_bucket_ == plan_.buckets.size() && !comm_is_busy_,
                   "the event list ran empty before the step was over");
    return {next_start_ - step_start_, comm_busy_,
            step_end_ - step_start_ - plan_.forward - plan_.backward,
            step_fingerprint(plan_.forward, plan_.backward, ends_), next_start_ - step_end_};
  }

 private:
  void start_step() {
    is_over_ = false;
    step_start_ = engine_.now();
    compute_.begin(step_start_, plan_.forward + plan_.backward);
    computed_ = {};
    comm_busy_ = {};
    layer_ = 0;
    ready_units_ = 0;
    next_bucket_ = 0;
    backward_is_over_ = false;
    if (forward_total_) {
      span(compute_track_, "forward", *forward_total_);
      engine_.after(*forward_total_, Phase::kComplete, [this] { start_backward(); });
    } else {
      forward_layer();
    }
  }

  void forward_layer() {
    if (layer_ == layers_.size()) return start_backward();
    const Layer& layer = layers_[layer_++];
    span(compute_track_, layer.name + " forward", layer.forward);
    engine_.after(layer.forward, Phase::kComplete, [this] { forward_layer(); });
  }

  void start_backward() {
    computed_ = plan_.forward;
    layer_ = layers_.size();
    backward_layer();
  }

  void backward_layer() {
    if (layer_ == 0) {
      backward_is_over_ = true;
      return decide();
    }
    computed_ += layers_[--layer_].backward;
    layer_start_ = engine_.now();
    if (plan_.beside.empty()) draw_layer(compute_.when(computed_));
    await_layer();
  }

  void draw_layer(Time end) {
    if (timeline_ == nullptr) return;
    timeline_->add_span(compute_track_, layers_[layer_].name + " backward", layer_start_, end,
                        gradients());
  }

  /// At the speed that the GPU has now.
  void await_layer() {
    layer_end_ = engine_.at(compute_.when(computed_), Phase::kComplete, [this] {
      layer_end_.reset();
      if (!plan_.beside.empty()) draw_layer(engine_.now());
      while (ready_units_ < units_.size() &&
             static_cast<std::size_t>(units_[ready_units_].layer) == layer_) {
        ++ready_units_;
      }
      decide();
      backward_layer();
    });
  }

  /// Collectives begin to slow the layer down, or no longer do.
  void change_speed(double slowdown) {
    if (slowdown == compute_.slowdown()) return;
    compute_.change(engine_.now(), slowdown);
    if (!layer_end_) return;
    engine_.cancel(*layer_end_);
    await_layer();
  }

  /// Asks for a decision once everything that completes at this instant has completed.
  void decide() {
    engine_.after(Duration{}, Phase::kSchedule, [this] { start_comm(); });
  }

  bool is_ready(const Bucket& bucket) const {
    const std::int32_t end = bucket.first_unit + bucket.units;
    return ready_units_ >= static_cast<std::size_t>(end) &&
           (!plan_.after_backward || backward_is_over_);
  }

  void start_comm() {
    if (comm_is_busy_) return;
    if (next_bucket_ == plan_.buckets.size()) {
      if (backward_is_over_) end_step();
      return;
    }
    const Bucket& bucket = plan_.buckets[next_bucket_];
    if (!is_ready(bucket)) return;
    comm_is_busy_ = true;
    const Slowdown slowdown = plan_.beside.empty() ? Slowdown{} : plan_.beside[next_bucket_];
    change_speed(slowdown.compute);
    const Duration length =
        bucket.cost + compute_.longer(engine_.now(), bucket.cost, slowdown.collective);
    if (timeline_ != nullptr)
      span(comm_track_, bucket_name(bucket), length, details(bucket, next_bucket_));
    engine_.after(length, Phase::kComplete, [this, length] {
      comm_is_busy_ = false;
      comm_busy_ += length;
      change_speed(1);
      ends_[next_bucket_] = engine_.now() - step_start_;
      ++next_bucket_;
      decide();
    });
  }

  void end_step() {
    if (std::exchange(is_over_, true)) return;  // a second decision at the instant of the end
    step_end_ = engine_.now();
    ++steps_over_;
    next_start_ = std::max(step_end_, Time(steps_over_ * plan_.input));
    if (--steps_left_ > 0) engine_.at(next_start_, Phase::kNormal, [this] { start_step(); });
  }

  std::string bucket_name(const Bucket& bucket) const {
    const std::string& first = units_[static_cast<std::size_t>(bucket.first_unit)].name;
    if (bucket.units == 1) return fmt::format("{} ({} B)", first, bucket.bytes.count);
    return fmt::format("{} + {} more ({} B)", first, bucket.units - 1, bucket.bytes.count);
  }

  /// A flow for each bucket of each step.
  std::uint64_t flow(std::size_t bucket) const {
    return static_cast<std::uint64_t>(steps_left_) * plan_.buckets.size() + bucket + 1;
  }

  Timeline::Details details(const Bucket& bucket, std::size_t number) const {
    std::string tensors;
    for (const GradientUnit& unit : bucket.of(units_))
      tensors += (tensors.empty() ? "" : ", ") + unit.name;
    return {.bytes = bucket.bytes.count,
            .bucket = static_cast<std::int64_t>(number),
            .tensors = std::move(tensors),
            .flow = flow(number)};
  }

  /// What the backward pass of layer_ makes; it flows into the bucket that has the last of it.
  Timeline::Details gradients() const {
    Timeline::Details made;
    std::size_t unit = ready_units_;
    for (; unit < units_.size() && static_cast<std::size_t>(units_[unit].layer) == layer_; ++unit) {
      made.bytes = std::max<std::int64_t>(made.bytes, 0) + units_[unit].bytes.count;
      made.tensors += (made.tensors.empty() ? "" : ", ") + units_[unit].name;
    }
    if (unit == ready_units_ || plan_.buckets.empty()) return made;
    const auto behind = std::upper_bound(
        plan_.buckets.begin(), plan_.buckets.end(), static_cast<std::int32_t>(unit - 1),
        [](std::int32_t u, const Bucket& bucket) { return u < bucket.first_unit; });
    made.bucket = behind - plan_.buckets.begin() - 1;
    made.flow = flow(static_cast<std::size_t>(made.bucket));
    return made;
  }

  void span(std::uint32_t track, const std::string& name, Duration length,
            Timeline::Details details = {}) {
    if (timeline_ == nullptr) return;
    timeline_->add_span(track, name, engine_.now(), engine_.now() + length, std::move(details));
  }

  Engine engine_;
  const StepPlan& plan_;
  const std::vector<Layer>& layers_;
  std::optional<Duration> forward_total_;
  std::span<const GradientUnit> units_;
  std::int64_t steps_left_;
  Timeline* timeline_;
  std::uint32_t compute_track_ = 0;
  std::uint32_t comm_track_ = 0;

  SharedCompute compute_;
  Duration computed_{};  ///< work of the step up to the end of the present layer
  Time layer_start_{};
  std::optional<EventId> layer_end_{};
  Time step_start_{};
  Time step_end_{};
  Time next_start_{};
  std::int64_t steps_over_ = 0;
  bool is_over_ = false;  ///< the present step
  std::size_t layer_ = 0;
  std::size_t ready_units_ = 0;  ///< units are ready in order
  std::size_t next_bucket_ = 0;  ///< in flight while comm_is_busy_
  bool comm_is_busy_ = false;
  bool backward_is_over_ = false;
  Duration comm_busy_{};
  std::vector<Duration> ends_;
};

}  // namespace

StepTimes event_step(const StepPlan& plan, const Workload& workload,
                     std::span<const GradientUnit> units, std::int64_t steps, Timeline* timeline) {
  const double seconds = static_cast<double>(steps) * to_seconds(closed_step(plan).step);
  constexpr double kLimit = 9.2e6;
  if (seconds > kLimit) {
    throw RangeError(fmt::format("{} steps take {} s, more than the {} s that can be simulated",
                                 steps, seconds, kLimit));
  }
  return StepPlayer(plan, workload, units, steps, timeline).play();
}

}  // namespace steptime
