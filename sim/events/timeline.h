// What happened when: named spans on the tracks of actors, flows between them, and counters,
// written for Perfetto (ui.perfetto.dev) and Chrome.
#pragma once
#include "sim/core/units.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steptime {

/// What is drawn; the rest is dropped. All of it by default.
struct TimelineWindow {
  Time from{};
  Time to = Time::max();
  std::int64_t first_rank = 0;
  std::int64_t last_rank = std::numeric_limits<std::int64_t>::max();
};

/// More about a span; negative: unknown.
struct SpanDetails {
  std::int64_t bytes = -1;
  std::int64_t bucket = -1;
  std::string tensors{};  ///< or whatever else it is about
  /// Spans of one flow follow from one another, in the order of their starts: a gradient, its
  /// bucket, its collective. Ids are the user's; 0: none.
  std::uint64_t flow = 0;
};

class Timeline {
 public:
  using Window = TimelineWindow;
  using Details = SpanDetails;
  struct Span {
    std::uint32_t track;
    std::string name;
    Time start;
    Time end;
    Details details;
  };
  struct Track {
    std::string name;
    std::string actor;  ///< "": an actor of its own
    bool is_counter;    ///< has values instead of spans
    std::string unit;   ///< unit of the track's values
  };
  struct Value {
    std::uint32_t track;
    Time time;
    double value;
  };

  Timeline() = default;
  explicit Timeline(const Window& window) : window_(window) {}

  /// Returns the number of the new track.
  std::uint32_t add_track(std::string name, std::string actor = "");
  std::uint32_t add_counter(std::string name, std::string actor, std::string unit);
  void add_span(std::uint32_t track, std::string name, Time start, Time end, Details details = {});
  /// From `time` on.
  void add_value(std::uint32_t track, Time time, double value);
  bool shows_rank(std::int64_t rank) const {
    return rank >= window_.first_rank && rank <= window_.last_rank;
  }

  const std::vector<Track>& tracks() const { return tracks_; }
  const std::vector<Span>& spans() const { return spans_; }
  const std::vector<Value>& values() const { return values_; }

  /// Perfetto's protobuf trace (TracePacket with TrackEvent), times in ns.
  std::string perfetto() const;
  /// Chrome's JSON trace events, times in us.
  std::string chrome_json() const;

 private:
  std::vector<std::string> actors() const;

  Window window_{};
  std::vector<Track> tracks_;
  std::vector<Span> spans_;
  std::vector<Value> values_;
};

}  // namespace steptime
