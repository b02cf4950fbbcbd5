// What happened when: named spans on named tracks, written for Perfetto (ui.perfetto.dev).
#pragma once
#include "sim/core/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

class Timeline {
 public:
  struct Span {
    std::uint32_t track;
    std::string name;
    Time start;
    Time end;
  };

  /// Returns the number of the new track.
  std::uint32_t add_track(std::string name);
  void add_span(std::uint32_t track, std::string name, Time start, Time end);

  const std::vector<std::string>& tracks() const { return tracks_; }
  const std::vector<Span>& spans() const { return spans_; }

  /// Perfetto's protobuf trace (TracePacket with TrackEvent), times in ns.
  std::string perfetto() const;
  /// Chrome's JSON trace events, times in us.
  std::string chrome_json() const;

 private:
  std::vector<std::string> tracks_;
  std::vector<Span> spans_;
};

}  // namespace steptime
