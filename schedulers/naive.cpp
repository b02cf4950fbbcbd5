// Naive S-SGD: every gradient on its own, after the whole backward pass.
// Source: 004 equation 3, figure 1.
#include "sim/step/schedule.h"

#include <memory>
#include <span>

namespace steptime {
namespace {

class Naive final : public Schedule {
 public:
  using Schedule::Schedule;
  BucketPlan plan(std::span<const GradientUnit> units, const Collective&) const override {
    return {.sizes = std::vector<std::int32_t>(units.size(), 1), .after_backward = true};
  }
};

const bool kRegistered = Schedules::instance().add(
    "naive", "one message per gradient after the backward pass", {granularity_param()},
    [](const Config& c) { return std::make_unique<Naive>(read_granularity(c)); });

}  // namespace
}  // namespace steptime
