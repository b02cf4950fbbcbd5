#include "sim/experiment/simulate.h"

#include "sim/core/error.h"
#include "sim/core/limits.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

Bytes all_gradients(const Experiment& e) {
  Bytes all;
  for (const GradientUnit& unit : e.workload->units(e.schedule->granularity()))
    all += unit.bytes;
  return all;
}

/// Whether a collective takes longer than a step may; null: it does not.
bool is_too_long(const Collective* collective, Bytes m) {
  if (collective == nullptr) return false;
  try {
    return to_seconds(collective->time(m)) > kLongestSeconds;
  } catch (const RangeError&) {
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// What of the config makes all gradients take too long by themselves; "/": nothing alone.
std::string_view place_of_what_is_too_long(const Aggregation& a, Bytes all) {
  if (is_too_long(a.whole ? a.whole.get() : a.inside.get(), all)) return "/strategy/aggregation";
  const bool beside_kernels = is_too_long(a.beside_kernels.get(), all);
  const bool others_beside = is_too_long(a.spread_beside_kernels.get(), all);
  return beside_kernels || (others_beside && !is_too_long(a.spread.get(), all))
             ? "/cluster/intra_node_beside_kernels"
             : "/";
}

/// What is out of range comes from several numbers, so that often only the section can be named,
/// and not always that.
template <class Run>
auto naming_the_place(const Experiment& experiment, Run run) {
  try {
    return run();
  } catch (const PlacedError& e) {
    throw InputError(fmt::format("{}: {}", experiment.file, e.what()));
  } catch (const RangeError& e) {
    throw InputError(fmt::format(
        "{}: {}: {}", experiment.file,
        place_of_what_is_too_long(*experiment.aggregation, all_gradients(experiment)), e.what()));
  }
}

/// Plans as if its collective were another one.
class PlannedFor final : public Replanned {
 public:
  PlannedFor(std::shared_ptr<const Schedule> schedule, std::shared_ptr<const Collective> collective)
      : Replanned(std::move(schedule)), collective_(std::move(collective)) {}
  BucketPlan plan(std::span<const GradientUnit> units, const Collective&) const override {
    return of().plan(units, *collective_);
  }

 private:
  std::shared_ptr<const Collective> collective_;
};

/// The same buckets, with a collective that takes as long as that end of its interval says.
double step_time_at(const Experiment& experiment, IntervalEnd end, const OnProgress& on_progress) {
  Experiment other = experiment;
  auto aggregation = std::make_shared<Aggregation>(*experiment.aggregation);
  other.collective = experiment.collective->at(end);
  aggregation->inside = other.collective;
  other.aggregation = std::move(aggregation);
  other.schedule = std::make_shared<PlannedFor>(experiment.schedule, experiment.collective);
  return other.execution->run(other, {.on_progress = on_progress}).step_time_s;
}

void add_interval(const Experiment& experiment, Result& result, const OnProgress& on_progress) {
  const Collective* const measured = experiment.execution->measured(experiment);
  if (measured == nullptr || !measured->at(IntervalEnd::kLow)) return;
  const Interval ends{step_time_at(experiment, IntervalEnd::kLow, on_progress),
                      step_time_at(experiment, IntervalEnd::kHigh, on_progress)};
  Interval& interval = result.step_time_interval_s;
  interval = {std::min(interval.low, ends.low), std::max(interval.high, ends.high)};
  result.profile_interval_s = ends;
}

}  // namespace

void check_training_run(const Experiment& experiment) {
  naming_the_place(experiment, [&] { experiment.execution->check_training(experiment); });
}

Result simulate(const Experiment& experiment, const Wanted& wanted) {
  return naming_the_place(experiment, [&] {
    Result result = experiment.execution->run(experiment, wanted);
    add_interval(experiment, result, wanted.on_progress);
    return result;
  });
}

}  // namespace steptime
