// Wait-free backpropagation: every gradient on its own, as soon as it exists.
// Source: 004 equations 6 to 8.
#include "sim/step/schedule.h"

#include <memory>
#include <span>

namespace steptime {
namespace {

class Wfbp final : public Schedule {
 public:
  using Schedule::Schedule;
  BucketPlan plan(std::span<const GradientUnit> units, const Collective&) const override {
    return {.sizes = std::vector<std::int32_t>(units.size(), 1)};
  }
};

const bool kRegistered =
    Schedules::instance().add(
        "wfbp", "one message per gradient as soon as it exists", {granularity_param()},
        [](const Config& c) { return std::make_unique<Wfbp>(read_granularity(c)); }) &&
    Schedules::instance().set_default("wfbp");

}  // namespace
}  // namespace steptime
