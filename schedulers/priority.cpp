// Priority: gradients are cut into parts of at most `partition` bytes, and of the parts that are
// ready the one of the earliest layer goes first, since the next forward pass needs it first. At
// most `credit` bytes are under way at once, so that a later, more urgent part overtakes what has
// not been sent: a large gradient is preempted where one of its parts ends.
//
// A layer of the next forward pass waits for its own gradients only, across the end of the step;
// with "waits": "step" the pass waits for all of them, as with the other schedules. Over
// all-reduces a framework may take time of its own between the passes (sim/step/host_work.h), as
// ByteScheduler in PyTorch does: it synchronises the device, takes a lock for each parameter and
// updates them from Python, which is 136 ms a step of ResNet-50 and 110 of BERT-Base in
// HKBU-HPML/ddl-benchmarks. It is no property of the schedule, so that its default is none.
// Parameters: partition [B], credit [B] (one part may always be under way), waits, between_passes
// [time]. Source: P3 (Jayarajan et al., SysML 2019), sections 3 and 4; ByteScheduler (Peng et al.,
// SOSP 2019), section 4. Defaults: those of ByteScheduler's all-reduce in
// HKBU-HPML/ddl-benchmarks, 4 M and 16 M elements of 4 B.
#include "sim/step/host_work.h"
#include "sim/step/schedule.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace steptime {
namespace {

const Params kParams{{.key = "partition",
                      .kind = Kind::kBytes,
                      .help = "most bytes of a message: larger gradients are cut",
                      .need = Need::kDefault,
                      .fallback = "16 MB",
                      .range = kPositive},
                     {.key = "credit",
                      .kind = Kind::kBytes,
                      .help = "bytes under way at once, but for one message",
                      .need = Need::kDefault,
                      .fallback = "64 MB",
                      .range = kPositive},
                     {.key = "waits",
                      .kind = Kind::kText,
                      .help = "of the next forward pass: each \"layer\" waits for its own "
                              "gradients, or the whole \"step\" for all",
                      .need = Need::kDefault,
                      .fallback = "layer",
                      .words = {"layer", "step"}},
                     {.key = "between_passes",
                      .kind = Kind::kTime,
                      .help = "what the framework itself takes between the backward pass and the "
                              "next forward pass of a step with all-reduces, beside which "
                              "gradients travel; a part of the backward pass's time, which a "
                              "single worker, and so what efficiency compares with, has not",
                      .need = Need::kDefault,
                      .fallback = "0 s",
                      .range = {.low = 0, .high = 1e6}},
                     granularity_param()};

class EarliestLayerFirst final : public Policy {
 public:
  EarliestLayerFirst(std::span<const Bucket> buckets, Bytes credit)
      : buckets_(buckets.begin(), buckets.end()), credit_(credit) {}

  void ready(std::int32_t bucket, Time /*now*/) override {
    waiting_.insert({-of(bucket).first_unit, bucket});
  }
  void arrived(std::span<const std::int32_t> buckets, Time /*now*/) override {
    for (const std::int32_t bucket : buckets)
      under_way_ = under_way_ - of(bucket).bytes;
    messages_ -= static_cast<std::int64_t>(buckets.size());
  }
  std::vector<std::int32_t> next(Time /*now*/) override {
    if (waiting_.empty()) return {};
    const std::int32_t first = waiting_.begin()->second;
    if (messages_ > 0 && of(first).bytes > credit_ - under_way_) return {};
    waiting_.erase(waiting_.begin());
    under_way_ += of(first).bytes;
    ++messages_;
    return {first};
  }

 private:
  const Bucket& of(std::int32_t bucket) const { return buckets_[static_cast<std::size_t>(bucket)]; }

  std::vector<Bucket> buckets_;
  Bytes credit_;
  Bytes under_way_{};
  std::int64_t messages_ = 0;  ///< under way
  /// Units come last layer first, so that of the earliest layer has the highest number; its parts
  /// go in their order.
  std::set<std::pair<std::int32_t, std::int32_t>> waiting_;
};

class Priority final : public Schedule, public HostWork {
 public:
  explicit Priority(const Config& c)
      : Schedule(read_granularity(c)),
        partition_(c.get<Bytes>("partition")),
        credit_(c.get<Bytes>("credit")),
        layers_wait_(c.get<std::string>("waits") == "layer"),
        between_passes_(c.get<Duration>("between_passes")) {}

  BucketPlan plan(std::span<const GradientUnit> units, const Collective&) const override {
    return {.sizes = std::vector<std::int32_t>(units.size(), 1), .longest = partition_};
  }
  std::unique_ptr<Policy> policy(std::span<const Bucket> buckets) const override {
    return std::make_unique<EarliestLayerFirst>(buckets, credit_);
  }
  bool layers_wait_for_their_own() const override { return layers_wait_; }
  Duration between_passes() const override { return between_passes_; }

 private:
  Bytes partition_;
  Bytes credit_;
  bool layers_wait_;
  Duration between_passes_;
};

const bool kRegistered = Schedules::instance().add(
    "priority", "parts of gradients, those of the earliest layer first, as P3 and ByteScheduler",
    kParams, [](const Config& c) { return std::make_unique<Priority>(c); });

}  // namespace
}  // namespace steptime
