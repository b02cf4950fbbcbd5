// Tensor fusion, as Horovod does it: cycle by cycle, what has become ready is grouped into messages
// of at most `threshold` bytes, which are all-reduced one after another.
//
// Cycles are those of sim/step/cycles.h. Groups are filled in the order of readiness; the first
// gradient that does not fit closes a group. With threshold 0 and cycle 0 every gradient travels by
// itself: `wfbp`.
//
// Scope: ranks agree in no time; the coordinator `horovod` takes time for that, and has the cycle,
// which is then 0 here.
// Parameters: threshold [B], cycle [time].
// Source: horovod v0.15.2 horovod/common/operations.cc RunLoopOnce, FuseResponses; the defaults are
// those of v0.11.3 to v0.20.3.
#include "sim/step/cycles.h"
#include "sim/step/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
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
                      .help = "from the beginning of a cycle to that of the next, at least; steps "
                              "begin at other phases of it, so that `steps` is 20 by default",
                      .need = Need::kDefault,
                      .fallback = "5 ms",
                      .range = kNotNegative},
                     granularity_param()};

class Fusion final : public Policy {
 public:
  Fusion(std::span<const Bucket> buckets, Bytes threshold)
      : buckets_(buckets.begin(), buckets.end()), threshold_(threshold) {}

  void ready(std::int32_t bucket, Time /*now*/) override { waiting_.push_back(bucket); }
  void arrived(std::span<const std::int32_t>, Time) override {}
  std::vector<std::int32_t> next(Time /*now*/) override {
    if (groups_.empty()) group();
    if (groups_.empty()) return {};
    std::vector<std::int32_t> first = std::move(groups_.front());
    groups_.pop_front();
    return first;
  }

 private:
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
  std::vector<std::int32_t> waiting_;
  std::deque<std::vector<std::int32_t>> groups_;  ///< not sent yet
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
    return std::make_unique<Cycles>(std::make_unique<Fusion>(buckets, threshold_), cycle_,
                                    [](std::size_t) { return Duration{}; });
  }
  bool fuses() const override { return true; }
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
