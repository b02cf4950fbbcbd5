#include "sim/events/timeline.h"

#include "sim/config/json.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
enum Descriptor : std::uint32_t { kUuid = 1, kName = 2, kParent = 5, kCounter = 8 };
enum Counter : std::uint32_t { kUnitName = 6 };
enum Event : std::uint32_t {
  kAnnotation = 4,
  kType = 9,
  kTrackUuid = 11,
  kEventName = 23,
  kDoubleValue = 44,
  kFlow = 47
};
enum Annotation : std::uint32_t { kIntValue = 4, kStringValue = 6, kAnnotationName = 10 };
enum EventType : std::int32_t { kSliceBegin = 1, kSliceEnd = 2, kCounterValue = 4 };

constexpr std::uint32_t kSequenceId = 1;

/// 0 is Perfetto's "no track"; actors come behind the tracks.
std::uint64_t uuid(std::size_t number) {
  return number + 1;
}

std::uint64_t nanoseconds(Time t) {
  return static_cast<std::uint64_t>((since_start(t).count() + 500) / 1000);
}

/// A packet with an event of a track; the rest of the event is `more`'s.
template <class More>
void add_event(std::string& trace, std::uint32_t track, Time time, EventType type, More more) {
  protozero::pbf_writer writer(trace);
  protozero::pbf_writer packet(writer, kPacket);
  packet.add_uint64(kTimestamp, nanoseconds(time));
  packet.add_uint32(kSequence, kSequenceId);
  protozero::pbf_writer event(packet, kTrackEvent);
  event.add_enum(kType, type);
  event.add_uint64(kTrackUuid, uuid(track));
  more(event);
}

void add_number(protozero::pbf_writer& event, const char* name, std::int64_t value) {
  if (value < 0) return;
  protozero::pbf_writer annotation(event, kAnnotation);
  annotation.add_string(kAnnotationName, name);
  annotation.add_int64(kIntValue, value);
}

void add_details(protozero::pbf_writer& event, const Timeline::Details& details) {
  add_number(event, "bytes", details.bytes);
  add_number(event, "bucket", details.bucket);
  if (!details.tensors.empty()) {
    protozero::pbf_writer annotation(event, kAnnotation);
    annotation.add_string(kAnnotationName, "tensors");
    annotation.add_string(kStringValue, details.tensors);
  }
  if (details.flow != 0) event.add_fixed64(kFlow, details.flow);
}

}  // namespace

std::uint32_t Timeline::add_track(std::string name, std::string actor) {
  tracks_.push_back({std::move(name), std::move(actor), false, ""});
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

std::uint32_t Timeline::add_counter(std::string name, std::string actor, std::string unit) {
  tracks_.push_back({std::move(name), std::move(actor), true, std::move(unit)});
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

void Timeline::add_span(std::uint32_t track, std::string name, Time start, Time end,
                        Details details) {
  if (end < window_.from || start > window_.to) return;
  spans_.push_back({track, std::move(name), start, end, std::move(details)});
}

void Timeline::add_value(std::uint32_t track, Time time, double value) {
  if (time < window_.from || time > window_.to) return;
  values_.push_back({track, time, value});
}

/// Each once, in the order in which they come.
std::vector<std::string> Timeline::actors() const {
  std::vector<std::string> actors;
  for (const Track& track : tracks_) {
    if (!track.actor.empty() &&
        std::find(actors.begin(), actors.end(), track.actor) == actors.end())
      actors.push_back(track.actor);
  }
  return actors;
}

std::string Timeline::perfetto() const {
  std::string trace;
  const std::vector<std::string> actors = this->actors();
  const auto describe = [&](std::size_t number, const std::string& name, const Track* track) {
    protozero::pbf_writer writer(trace);
    protozero::pbf_writer packet(writer, kPacket);
    packet.add_uint32(kSequence, kSequenceId);
    protozero::pbf_writer descriptor(packet, kTrackDescriptor);
    descriptor.add_uint64(kUuid, uuid(number));
    descriptor.add_string(kName, name);
    if (track == nullptr) return;
    if (!track->actor.empty()) {
      const auto actor = std::find(actors.begin(), actors.end(), track->actor) - actors.begin();
      descriptor.add_uint64(kParent, uuid(tracks_.size() + static_cast<std::size_t>(actor)));
    }
    if (track->is_counter) {
      protozero::pbf_writer counter(descriptor, kCounter);
      counter.add_string(kUnitName, track->unit);
    }
  };
  for (std::size_t a = 0; a < actors.size(); ++a)
    describe(tracks_.size() + a, actors[a], nullptr);
  for (std::size_t track = 0; track < tracks_.size(); ++track)
    describe(track, tracks_[track].name, &tracks_[track]);
  for (const Span& span : spans_) {
    add_event(trace, span.track, span.start, kSliceBegin, [&](protozero::pbf_writer& event) {
      event.add_string(kEventName, span.name);
      add_details(event, span.details);
    });
    add_event(trace, span.track, span.end, kSliceEnd, [](protozero::pbf_writer&) {});
  }
  for (const Value& value : values_) {
    add_event(trace, value.track, value.time, kCounterValue,
              [&](protozero::pbf_writer& event) { event.add_double(kDoubleValue, value.value); });
  }
  return trace;
}

std::string Timeline::chrome_json() const {
  std::string text = "[";
  const auto add = [&](const Json& event) {  // one by one: all in one tree take 1 KB each
    text += text.size() > 1 ? ",\n" : "\n";
    text += event.dump(0);
  };
  const auto microseconds = [](Time t) {
    return static_cast<double>(since_start(t).count()) / 1e6;
  };
  // An actor is a process: number 0 has the tracks that are actors of their own.
  const std::vector<std::string> actors = this->actors();
  const auto process = [&](const Track& track) {
    const auto found = std::find(actors.begin(), actors.end(), track.actor);
    return found == actors.end() ? 0 : found - actors.begin() + 1;
  };
  for (std::size_t a = 0; a < actors.size(); ++a) {
    add(Json{{"ph", "M"},
             {"name", "process_name"},
             {"pid", a + 1},
             {"tid", 0},
             {"args", Json{{"name", actors[a]}}}});
  }
  for (std::size_t track = 0; track < tracks_.size(); ++track) {
    if (tracks_[track].is_counter) continue;
    add(Json{{"ph", "M"},
             {"name", "thread_name"},
             {"pid", process(tracks_[track])},
             {"tid", track},
             {"args", Json{{"name", tracks_[track].name}}}});
  }
  std::vector<const Span*> flowing;
  for (const Span& span : spans_) {
    Json event{{"ph", "X"},
               {"name", span.name},
               {"pid", process(tracks_[span.track])},
               {"tid", span.track},
               {"ts", microseconds(span.start)},
               {"dur", static_cast<double>((span.end - span.start).count()) / 1e6}};
    if (span.details.bytes >= 0) event["args"]["bytes"] = span.details.bytes;
    if (span.details.bucket >= 0) event["args"]["bucket"] = span.details.bucket;
    if (!span.details.tensors.empty()) event["args"]["tensors"] = span.details.tensors;
    add(event);
    if (span.details.flow != 0) flowing.push_back(&span);
  }
  // Chrome wants the first, those between and the last of a flow told apart.
  std::stable_sort(flowing.begin(), flowing.end(), [](const Span* a, const Span* b) {
    return std::pair(a->details.flow, a->start) < std::pair(b->details.flow, b->start);
  });
  for (std::size_t i = 0; i < flowing.size(); ++i) {
    const std::uint64_t flow = flowing[i]->details.flow;
    const bool is_first = i == 0 || flowing[i - 1]->details.flow != flow;
    const bool is_last = i + 1 == flowing.size() || flowing[i + 1]->details.flow != flow;
    if (is_first && is_last) continue;
    Json event{{"ph", is_first  ? "s"
                      : is_last ? "f"
                                : "t"},
               {"name", "flow"},
               {"cat", "flow"},
               {"id", flow},
               {"pid", process(tracks_[flowing[i]->track])},
               {"tid", flowing[i]->track},
               {"ts", microseconds(flowing[i]->start)}};
    if (is_last) event["bp"] = "e";  // binds to the span that it lies in, not to the next one
    add(event);
  }
  for (const Value& value : values_) {
    const Track& track = tracks_[value.track];
    add(Json{{"ph", "C"},
             {"name", track.name},
             {"pid", process(track)},
             {"ts", microseconds(value.time)},
             {"args", Json{{track.unit, value.value}}}});
  }
  return text + "\n]\n";
}

}  // namespace steptime
