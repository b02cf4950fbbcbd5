#include "sim/events/causes_between.h"

#include <algorithm>
#include <cmath>

namespace steptime {

std::vector<Cause> causes_between(const Causes& causes, std::span<const PathPart> parts,
                                  double share) {
  std::vector<When> ends;
  std::vector<When> begins;
  for (const PathPart& part : parts) {
    ends.push_back(part.end);
    if (part.begin > Time{}) begins.emplace_back(part.begin, part.end.cause);
  }
  constexpr double kPicosecond = 1e-12;  // times are whole, so that what is left is exact
  std::vector<Cause> list = causes.attribution(ends, kPicosecond);
  for (const Cause& early : causes.attribution(begins, kPicosecond)) {
    const auto same = std::ranges::find_if(list, [&](const Cause& cause) {
      return cause.cause == early.cause && cause.resource == early.resource;
    });
    same->seconds = std::round(same->seconds) - std::round(early.seconds);
  }
  std::erase_if(list, [](const Cause& cause) { return cause.seconds <= 0; });
  for (Cause& cause : list)
    cause.seconds = cause.seconds * kPicosecond / share;
  std::ranges::stable_sort(list,
                           [](const Cause& a, const Cause& b) { return a.seconds > b.seconds; });
  return list;
}

}  // namespace steptime
