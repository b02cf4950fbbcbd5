// Fixed buckets, as PyTorch's DistributedDataParallel fills them: gradients in the order in which
// they become ready; a bucket is closed by the gradient that brings it to its capacity. The first
// bucket is small, so that communication starts early. Gradients are copied into the buckets and
// back (sim/workload/bucket_copies.h), where they are no views of them.
//
// Parameters: capacity [B] (DDP: bucket_cap_mb), first_capacity [B], views (DDP:
// gradient_as_bucket_view; then the network's buffers cost nothing either, of which few are known
// that use it).
// Source: pytorch torch/csrc/distributed/c10d/reducer.cpp compute_bucket_assignment_by_size.
#include "sim/step/schedule.h"

#include <memory>
#include <span>

namespace steptime {
namespace {

const Params kParams{{.key = "capacity",
                      .kind = Kind::kBytes,
                      .help = "a bucket is closed by the gradient that brings it to this size",
                      .need = Need::kDefault,
                      .fallback = "25 MiB",
                      .range = kPositive},
                     {.key = "first_capacity",
                      .kind = Kind::kBytes,
                      .help = "the same for the first bucket",
                      .need = Need::kDefault,
                      .fallback = "1 MiB",
                      .range = kPositive},
                     {.key = "views",
                      .kind = Kind::kBoolean,
                      .help = "gradients are views of their buckets, so that none is copied",
                      .need = Need::kDefault,
                      .fallback = false},
                     granularity_param()};

class FixedBuckets final : public Schedule {
 public:
  explicit FixedBuckets(const Config& c)
      : Schedule(read_granularity(c)),
        capacity_(c.get<Bytes>("capacity")),
        first_capacity_(c.get<Bytes>("first_capacity")),
        views_(c.get<bool>("views")) {}

  BucketPlan plan(std::span<const GradientUnit> units, const Collective&) const override {
    BucketPlan plan;
    std::int32_t size = 0;
    Bytes bytes{};
    for (const GradientUnit& unit : units) {
      ++size;
      bytes += unit.bytes;
      if (bytes >= (plan.sizes.empty() ? first_capacity_ : capacity_)) {
        plan.sizes.push_back(size);
        size = 0;
        bytes = {};
      }
    }
    if (size > 0) plan.sizes.push_back(size);
    return plan;
  }
  bool copies_gradients() const override { return !views_; }

 private:
  Bytes capacity_;
  Bytes first_capacity_;
  bool views_;
};

const bool kRegistered = Schedules::instance().add(
    "fixed-buckets", "buckets of a fixed capacity, as PyTorch DDP", kParams,
    [](const Config& c) { return std::make_unique<FixedBuckets>(c); });

}  // namespace
}  // namespace steptime
