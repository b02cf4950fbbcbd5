// Tensor fusion, as Horovod does it: cycle by cycle, what has become ready is grouped into messages
// of at most `threshold` bytes, which are all-reduced one after another.
//
// A cycle begins at max(end of the one before, its begin + `cycle`), not at a multiple of the cycle
// time, and takes what is ready then, a gradient of that very instant included. Groups are filled
// in the order of readiness; the first gradient that does not fit closes a group. A cycle ends with
// its last all-reduce. With threshold 0 and cycle 0 every gradient travels by itself: `wfbp`.
//
// Scope: negotiation between ranks takes no time.
// Parameters: threshold [B], cycle [time].
// Source: horovod v0.15.2 horovod/common/operations.cc RunLoopOnce, FuseResponses; the defaults are
// those of v0.11.3 to v0.20.3.
#include "sim/step/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace steptime {
namespace {

const Params kParams{{.key = "threshold",
                      .kind = Kind::kBytes,
                      .help = "most bytes of a message that has several gradients",
                      .need = Need::kDefault,
                      .fallback = "64 MiB",
                      .range = kNotNegative},
                     {.key = "cycle",
                      .kind = Kind::kTime,
                      .help = "from the beginning of a cycle to that of the next, at least",
                      .need = Need::kDefault,
                      .fallback = "5 ms",
                      .range = kNotNegative},
                     granularity_param()};

class Cycles final : public Policy {
 public:
  Cycles(std::span<const Bucket> buckets, Bytes threshold, Duration cycle)
      : buckets_(buckets.begin(), buckets.end()), threshold_(threshold), cycle_(cycle) {}

  void ready(std::int32_t bucket, Time /*now*/) override { waiting_.push_back(bucket); }

  void arrived(std::span<const std::int32_t> buckets, Time now) override {
    under_way_ -= buckets.size();
    if (under_way_ == 0 && groups_.empty()) begin_ = std::max(now, begin_ + cycle_);
  }

  std::vector<std::int32_t> next(Time now) override {
    wake_.reset();
    if (under_way_ > 0) return {};
    if (groups_.empty()) {
      if (waiting_.empty()) return {};
      begin_ = first_begin(now);
      if (begin_ > now) {
        wake_ = begin_;
        return {};
      }
      group();
    }
    std::vector<std::int32_t> first = std::move(groups_.front());
    groups_.pop_front();
    under_way_ = first.size();
    return first;
  }

  std::optional<Time> wake() const override { return wake_; }

 private:
  /// Of a cycle, at `now` or later: those that found nothing to do lie `cycle_` apart.
  Time first_begin(Time now) const {
    if (begin_ >= now) return begin_;
    if (cycle_ == Duration{}) return now;
    const auto idle = (now - begin_ + cycle_ - Duration(1)) / cycle_;
    return begin_ + idle * cycle_;
  }

  void group() {
    Bytes bytes{};
    for (const std::int32_t bucket : waiting_) {
      const Bytes own = buckets_[static_cast<std::size_t>(bucket)].bytes;
      if (groups_.empty() || bytes + own > threshold_) {
        groups_.emplace_back();
        bytes = {};
      }
      groups_.back().push_back(bucket);
      bytes += own;
    }
    waiting_.clear();
  }

  std::vector<Bucket> buckets_;
  Bytes threshold_;
  Duration cycle_;
  std::vector<std::int32_t> waiting_;             ///< for the next cycle
  std::deque<std::vector<std::int32_t>> groups_;  ///< of the present cycle, not sent yet
  std::size_t under_way_ = 0;                     ///< gradients of the group that is being reduced
  Time begin_{};  ///< of the present cycle, or of the earliest next one
  std::optional<Time> wake_{};
};

class TensorFusion final : public Schedule {
 public:
  explicit TensorFusion(const Config& c)
      : Schedule(read_granularity(c)),
        threshold_(c.get<Bytes>("threshold")),
        cycle_(c.get<Duration>("cycle")) {}

  BucketPlan plan(std::span<const GradientUnit> units, const Collective&) const override {
    return {.sizes = std::vector<std::int32_t>(units.size(), 1)};
  }
  std::unique_ptr<Policy> policy(std::span<const Bucket> buckets) const override {
    return std::make_unique<Cycles>(buckets, threshold_, cycle_);
  }
  /// Steps begin at other phases of the cycle.
  std::int64_t default_steps() const override { return cycle_ > Duration{} ? 20 : 1; }

 private:
  Bytes threshold_;
  Duration cycle_;
};

const bool kRegistered = Schedules::instance().add(
    "tensor-fusion", "what is ready in a cycle, in messages of limited size, as Horovod", kParams,
    [](const Config& c) { return std::make_unique<TensorFusion>(c); });

}  // namespace
}  // namespace steptime
