// SyncEASGD's single-layer communication: all gradients in one message after the backward pass.
// Source: 004 section I and reference [15].
#include "sim/step/schedule.h"

#include <memory>
#include <span>

namespace steptime {
namespace {

class SyncEasgd final : public Schedule {
 public:
  using Schedule::Schedule;
  BucketPlan plan(std::span<const GradientUnit> units, const Collective&) const override {
    if (units.empty()) return {};
    return {.sizes = {static_cast<std::int32_t>(units.size())}, .after_backward = true};
  }
};

const bool kRegistered = Schedules::instance().add(
    "sync-easgd", "one message in all, after the backward pass", {granularity_param()},
    [](const Config& c) { return std::make_unique<SyncEasgd>(read_granularity(c)); });

}  // namespace
}  // namespace steptime
