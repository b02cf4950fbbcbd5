#include "sim/mxnet/mean_step.h"

#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/events/mean_causes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace steptime {
namespace {

/// Of times whose sum need not fit.
template <class Get>
Duration mean_time(std::span<const EmbeddedStep> runs, Get get) {
  const auto count = static_cast<std::int64_t>(runs.size());
  Duration whole{};
  Duration rest{};
  for (const EmbeddedStep& run : runs) {
    whole += get(run) / count;
    rest += get(run) % count;
  }
  return whole + rest / count;
}

std::vector<std::pair<std::string, Duration>> mean_waits(std::span<const EmbeddedStep> runs) {
  std::vector<std::vector<Cause>> waits(runs.size());
  std::vector<std::span<const Cause>> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [what, time] : runs[i].attribution.waits)
      waits[i].push_back({what, "", to_seconds(time)});
    all.emplace_back(waits[i]);
  }
  std::vector<std::pair<std::string, Duration>> means;
  for (Cause& wait : mean_causes(all))
    means.emplace_back(std::move(wait.cause), from_seconds(wait.seconds));
  return means;
}

}  // namespace

EmbeddedStep recorded_step(const StepPlan& plan, const RankRecord& recorder, Duration slowest,
                           Duration busy, const Causes* causes) {
  STEPTIME_CHECK(recorder.is_complete(), "a gradient was not exchanged");
  EmbeddedStep step{.attribution = recorder.attribution(causes)};
  step.buckets.assign(recorder.key_times().rbegin(), recorder.key_times().rend());
  std::vector<Duration> ends;
  for (const auto& bucket : step.buckets)
    ends.push_back(bucket.end);
  const Duration length = recorder.step_time();
  const Duration input = step.attribution.input;
  // Ranks that do not wait for each other in every step make up for each other's slow ones.
  const Duration compute = std::min(slowest, length - input);
  const std::uint64_t by_ends = step_fingerprint(plan.forward, plan.backward, ends);
  step.times = {length,
                busy,
                length - compute - input,
                mix(by_ends, static_cast<std::uint64_t>(length.count())),
                input,
                compute};
  return step;
}

EmbeddedStep mean_of(std::span<const EmbeddedStep> runs) {
  EmbeddedStep mean = runs.front();
  if (runs.size() == 1) return mean;
  mean.cold = mean_time(runs, [](const EmbeddedStep& run) { return run.cold; });
  for (const auto time : {&StepTimes::step, &StepTimes::comm_busy, &StepTimes::exposed_comm,
                          &StepTimes::exposed_input, &StepTimes::compute})
    mean.times.*time = mean_time(runs, [time](const EmbeddedStep& run) { return run.times.*time; });
  for (const auto time : {&Attribution::hidden_under_backward, &Attribution::hidden_under_forward,
                          &Attribution::exposed, &Attribution::idle, &Attribution::transient}) {
    mean.attribution.*time =
        mean_time(runs, [time](const EmbeddedStep& run) { return run.attribution.*time; });
  }
  mean.attribution.waits = mean_waits(runs);
  std::vector<std::span<const Cause>> causes{runs.front().attribution.causes};
  for (const EmbeddedStep& run : runs.subspan(1)) {
    causes.emplace_back(run.attribution.causes);
    mean.times.fingerprint = mix(mean.times.fingerprint, run.times.fingerprint);
  }
  mean.attribution.causes = mean_causes(causes);
  return mean;
}

}  // namespace steptime
