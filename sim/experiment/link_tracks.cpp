#include "sim/experiment/link_tracks.h"

#include "sim/collective/link_use.h"
#include "sim/collective/message_time.h"
#include "sim/experiment/played_cluster.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Of an all-reduce, from its start.
struct Carries {
  std::string link;
  Duration from{};
  std::optional<Duration> to{};  ///< none: its end
  std::int64_t bytes = -1;       ///< negative: unknown
};

std::vector<Carries> stages(const Collective& collective, Bytes m) {
  std::vector<Carries> parts;
  Duration now{};
  for (const Stage& stage : collective.stages(m)) {
    if (stage.copies) continue;
    const Duration start = now + stage.startup;
    now = start + stage.work;
    const bool inside = stage.where == Pairs::kInNode;
    parts.push_back({inside ? "links inside nodes" : "links between nodes", start, now});
  }
  return parts;
}

std::vector<Carries> played(const Experiment& e, Bytes m) {
  constexpr double kMost = 2e6;  // messages of two links
  std::vector<Carries> parts;
  const auto cluster = played_machines(e).cluster;
  const Machine machine(*cluster);
  if (play_cost(e.collective->programs(m), machine) > kMost) return parts;
  for (const LinkUse& use : link_uses(*e.collective, *cluster, m)) {
    const std::string kind = use.kind.empty() ? "" : fmt::format(" ({})", use.kind);
    parts.push_back({use.from == use.to ? fmt::format("link of the {}", use.from)
                                        : fmt::format("link {} to {}{}", use.from, use.to, kind),
                     Duration{}, std::nullopt, use.bytes});
  }
  return parts;
}

}  // namespace

void add_link_tracks(Timeline& timeline, const Experiment& e) {
  if (!timeline.shows_rank(0)) return;
  constexpr std::string_view kAllReduces = "all-reduce";  // as sim/training/programs.cpp calls it
  const bool plays = e.run->fidelity == Fidelity::kMessage;
  std::map<std::int64_t, std::vector<Carries>> known;  // by bytes
  std::map<std::string, std::uint32_t> tracks;         // by link
  const std::vector<Timeline::Span> spans = timeline.spans();
  for (const Timeline::Span& span : spans) {
    if (timeline.tracks()[span.track].name != kAllReduces) continue;
    const Bytes m{span.details.bytes};
    auto found = known.find(m.count);
    if (found == known.end()) {
      found = known.emplace(m.count, plays ? played(e, m) : stages(*e.collective, m)).first;
    }
    for (const Carries& part : found->second) {
      auto track = tracks.find(part.link);
      if (track == tracks.end())
        track = tracks.emplace(part.link, timeline.add_track("carries", part.link)).first;
      timeline.add_span(
          track->second, span.name, span.start + part.from,
          part.to ? span.start + *part.to : span.end,
          {.bytes = part.bytes, .bucket = span.details.bucket, .flow = span.details.flow});
    }
  }
}

}  // namespace steptime
