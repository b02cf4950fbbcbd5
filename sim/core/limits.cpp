#include "sim/core/limits.h"

#include "sim/core/error.h"

#include <fmt/format.h>

namespace steptime {

void check_events(double events, std::string_view pointer, std::string_view things,
                  std::string_view advice) {
  if (events <= kMostEvents) return;
  throw PlacedError(fmt::format("{}: about {:.1g} {} to play, at most {:.0g}; {}", pointer, events,
                                things, kMostEvents, advice));
}

void check_links(double links) {
  if (links <= kMostLinks) return;
  throw PlacedError(
      fmt::format("/cluster: message fidelity holds {:.0g} links at most, and this machine has "
                  "about {:.1g}",
                  kMostLinks, links));
}

void check_bars(double bars) {
  if (bars <= kMostBars) return;
  throw PlacedError(fmt::format(
      "/run/steps: about {:.1g} bars in a timeline, at most {:.0g}; fewer steps or workers have "
      "fewer",
      bars, kMostBars));
}

}  // namespace steptime
