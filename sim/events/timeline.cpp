#include "sim/events/timeline.h"

#include "sim/config/json.h"

#include <cstdint>
#include <string>
#include <utility>

#include <protozero/pbf_writer.hpp>

namespace steptime {
namespace {

// Field numbers of perfetto/protos/perfetto/trace/{trace,trace_packet,track_event/*}.proto.
enum Trace : std::uint32_t { kPacket = 1 };
enum Packet : std::uint32_t {
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kTrackDescriptor = 60
};
enum Track : std::uint32_t { kUuid = 1, kName = 2 };
enum Event : std::uint32_t { kType = 9, kTrackUuid = 11, kEventName = 23 };
enum EventType : std::int32_t { kSliceBegin = 1, kSliceEnd = 2 };

constexpr std::uint32_t kSequenceId = 1;

std::uint64_t uuid(std::uint32_t track) {
  return track + 1;
}  // 0 is Perfetto's "no track"

std::uint64_t nanoseconds(Time t) {
  return static_cast<std::uint64_t>((since_start(t).count() + 500) / 1000);
}

void add_event(std::string& trace, const Timeline::Span& span, Time time, EventType type) {
  protozero::pbf_writer writer(trace);
  protozero::pbf_writer packet(writer, kPacket);
  packet.add_uint64(kTimestamp, nanoseconds(time));
  packet.add_uint32(kSequence, kSequenceId);
  protozero::pbf_writer event(packet, kTrackEvent);
  event.add_enum(kType, type);
  event.add_uint64(kTrackUuid, uuid(span.track));
  if (type == kSliceBegin) event.add_string(kEventName, span.name);
}

}  // namespace

std::uint32_t Timeline::add_track(std::string name) {
  tracks_.push_back(std::move(name));
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

void Timeline::add_span(std::uint32_t track, std::string name, Time start, Time end) {
  spans_.push_back({track, std::move(name), start, end});
}

std::string Timeline::perfetto() const {
  std::string trace;
  for (std::uint32_t track = 0; track < tracks_.size(); ++track) {
    protozero::pbf_writer writer(trace);
    protozero::pbf_writer packet(writer, kPacket);
    packet.add_uint32(kSequence, kSequenceId);
    protozero::pbf_writer descriptor(packet, kTrackDescriptor);
    descriptor.add_uint64(kUuid, uuid(track));
    descriptor.add_string(kName, tracks_[track]);
  }
  for (const Span& span : spans_) {
    add_event(trace, span, span.start, kSliceBegin);
    add_event(trace, span, span.end, kSliceEnd);
  }
  return trace;
}

std::string Timeline::chrome_json() const {
  std::string text = "[";
  const auto add = [&](const Json& event) {  // one by one: all in one tree take 1 KB each
    text += text.size() > 1 ? ",\n" : "\n";
    text += event.dump(0);
  };
  for (std::uint32_t track = 0; track < tracks_.size(); ++track) {
    add(Json{{"ph", "M"},
             {"name", "thread_name"},
             {"pid", 0},
             {"tid", track},
             {"args", Json{{"name", tracks_[track]}}}});
  }
  const auto microseconds = [](Duration d) { return static_cast<double>(d.count()) / 1e6; };
  for (const Span& span : spans_) {
    add(Json{{"ph", "X"},
             {"name", span.name},
             {"pid", 0},
             {"tid", span.track},
             {"ts", microseconds(since_start(span.start))},
             {"dur", microseconds(span.end - span.start)}});
  }
  return text + "\n]\n";
}

}  // namespace steptime
