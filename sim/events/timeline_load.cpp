#include "sim/events/timeline_load.h"

#include <map>
#include <string>

namespace steptime {

void add_load(Timeline& timeline) {
  // By actor and moment, by how much the load changes.
  std::map<std::string, std::map<Time, double>> changes;
  for (const Timeline::Span& span : timeline.spans()) {
    const Timeline::Track& track = timeline.tracks()[span.track];
    if (span.details.bytes <= 0 || span.end <= span.start || track.name.starts_with("compute"))
      continue;
    const double rate =
        static_cast<double>(span.details.bytes) / to_seconds(span.end - span.start) / 1e9;
    changes[track.actor][span.start] += rate;
    changes[track.actor][span.end] -= rate;
  }
  for (const auto& [actor, moments] : changes) {
    const std::uint32_t counter = timeline.add_counter("under way", actor, "GB/s");
    double load = 0;
    for (const auto& [time, change] : moments) {
      load += change;
      constexpr double kRounding = 1e-9;  // of what comes and goes
      timeline.add_value(counter, time, load < kRounding ? 0 : load);
    }
  }
}

}  // namespace steptime
