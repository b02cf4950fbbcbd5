#include "sim/events/timeline.h"

#include "sim/config/json.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

namespace steptime {
namespace {

/// Two tracks; on the first one a span from 1.4999 to 2.5 ns, on the second one an empty span.
Timeline two_tracks() {
  Timeline timeline;
  const std::uint32_t compute = timeline.add_track("compute");
  const std::uint32_t comm = timeline.add_track("comm");
  timeline.add_span(compute, "conv", Time(Duration(1'499)), Time(Duration(2'500)));
  timeline.add_span(comm, "g1", Time(Duration(3'000'000)), Time(Duration(3'000'000)));
  return timeline;
}

TEST(Timeline, KeepsTracksAndSpansInOrder) {
  const Timeline timeline = two_tracks();
  EXPECT_EQ(timeline.tracks(), (std::vector<std::string>{"compute", "comm"}));
  ASSERT_EQ(timeline.spans().size(), 2U);
  EXPECT_EQ(timeline.spans()[1].track, 1U);
  EXPECT_EQ(timeline.spans()[1].name, "g1");
  EXPECT_EQ(timeline.spans()[1].start, Time(Duration(3'000'000)));
}

TEST(Timeline, ChromeEventsAreInMicroseconds) {
  // 1499 ps = 0.001499 us; 2500 - 1499 = 1001 ps.
  EXPECT_EQ(parse_json(two_tracks().chrome_json(), "chrome").dump(),
            R"([{"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"compute"}},)"
            R"({"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"comm"}},)"
            R"({"ph":"X","name":"conv","pid":0,"tid":0,"ts":0.001499,"dur":0.001001},)"
            R"({"ph":"X","name":"g1","pid":0,"tid":1,"ts":3.0,"dur":0.0}])");
}

TEST(Timeline, AnEmptyOneIsValid) {
  EXPECT_EQ(parse_json(Timeline().chrome_json(), "chrome"), Json::array());
  EXPECT_EQ(Timeline().perfetto(), "");
}

/// One TracePacket as text, by the field numbers of Perfetto's .proto files.
std::string packet_text(protozero::pbf_reader packet) {
  std::string text;
  while (packet.next()) {
    if (packet.tag() == 8) {  // timestamp
      text += "t=" + std::to_string(packet.get_uint64()) + " ";
    } else if (packet.tag() == 10) {  // trusted_packet_sequence_id
      EXPECT_NE(packet.get_uint32(), 0U);
    } else if (packet.tag() == 11) {  // track_event
      protozero::pbf_reader event = packet.get_message();
      while (event.next()) {
        if (event.tag() == 9)
          text += event.get_enum() == 1 ? "begin " : "end ";
        else if (event.tag() == 11)
          text += "track=" + std::to_string(event.get_uint64()) + " ";
        else if (event.tag() == 23)
          text += event.get_string() + " ";
        else
          ADD_FAILURE() << "field " << event.tag();
      }
    } else if (packet.tag() == 60) {  // track_descriptor
      protozero::pbf_reader track = packet.get_message();
      while (track.next()) {
        if (track.tag() == 1)
          text += "uuid=" + std::to_string(track.get_uint64()) + " ";
        else if (track.tag() == 2)
          text += track.get_string() + " ";
        else
          ADD_FAILURE() << "field " << track.tag();
      }
    } else {
      ADD_FAILURE() << "field " << packet.tag();
      packet.skip();
    }
  }
  return text;
}

TEST(Timeline, PerfettoPacketsDecode) {
  const std::string bytes = two_tracks().perfetto();
  protozero::pbf_reader trace(bytes);
  std::vector<std::string> packets;
  while (trace.next(1))
    packets.push_back(packet_text(trace.get_message()));
  // Nanoseconds, rounded: 1.499 to 1, 2.5 to 3. Tracks count from 1, as 0 means no track.
  EXPECT_EQ(packets, (std::vector<std::string>{"uuid=1 compute ", "uuid=2 comm ",
                                               "t=1 begin track=1 conv ", "t=3 end track=1 ",
                                               "t=3000 begin track=2 g1 ", "t=3000 end track=2 "}));
}

}  // namespace
}  // namespace steptime
