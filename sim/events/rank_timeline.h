// The spans of one rank, or of another actor, on a timeline; draws nothing without one.
#pragma once
#include "sim/core/units.h"
#include "sim/events/timeline.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {

/// A flow of one rank by its number there. Chrome reads ids as doubles: 20 bits of ranks, 32 of
/// flows.
constexpr std::uint64_t flow_of(std::int32_t rank, std::uint64_t number) {
  return (static_cast<std::uint64_t>(rank) << 32 | (number & 0xffffffff)) + 1;
}

class RankTimeline {
 public:
  RankTimeline(Timeline* timeline, std::int32_t rank)
      : timeline_(timeline != nullptr && timeline->shows_rank(rank) ? timeline : nullptr),
        actor_(timeline_ == nullptr ? "" : fmt::format("rank {}", rank)) {}
  RankTimeline(Timeline* timeline, std::string actor)
      : timeline_(timeline), actor_(std::move(actor)) {}
  bool is_on() const { return timeline_ != nullptr; }

  /// Spans of one lane come in the order in which they end; those that overlap get a track each.
  void add(std::string_view lane, std::string name, Time start, Time end,
           Timeline::Details details = {}) {
    if (timeline_ == nullptr) return;
    int number = 1;
    for (Track& track : tracks_) {
      if (track.lane != lane) continue;
      if (track.free <= start) {
        track.free = end;
        return timeline_->add_span(track.number, std::move(name), start, end, std::move(details));
      }
      ++number;
    }
    std::string title(lane);
    if (number > 1) title += fmt::format(" {}", number);
    tracks_.push_back({std::string(lane), timeline_->add_track(title, actor_), end});
    timeline_->add_span(tracks_.back().number, std::move(name), start, end, std::move(details));
  }

 private:
  struct Track {
    std::string lane;
    std::uint32_t number;
    Time free;
  };
  Timeline* timeline_;
  std::string actor_;
  std::vector<Track> tracks_;
};

/// So many actors of a kind, "server 0" and so on.
inline std::vector<RankTimeline> actors(Timeline* timeline, const std::string& kind,
                                        std::int64_t count) {
  std::vector<RankTimeline> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.emplace_back(timeline, fmt::format("{} {}", kind, i));
  return all;
}

}  // namespace steptime
