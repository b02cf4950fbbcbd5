#include "sim/events/mean_causes.h"

#include <algorithm>

namespace steptime {

std::vector<Cause> mean_causes(const std::vector<std::span<const Cause>>& runs) {
  std::vector<Cause> sum;
  for (const std::span<const Cause> run : runs) {
    for (const Cause& cause : run) {
      auto same = std::find_if(sum.begin(), sum.end(), [&](const Cause& c) {
        return c.cause == cause.cause && c.resource == cause.resource;
      });
      if (same == sum.end()) same = sum.insert(sum.end(), {cause.cause, cause.resource});
      same->seconds += cause.seconds / static_cast<double>(runs.size());
    }
  }
  std::stable_sort(sum.begin(), sum.end(),
                   [](const Cause& a, const Cause& b) { return a.seconds > b.seconds; });
  return sum;
}

}  // namespace steptime
