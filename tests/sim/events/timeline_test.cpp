#include "sim/events/timeline.h"

#include "sim/config/json.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// A gradient that flows into its bucket on another actor, a span without details, and a counter.
Timeline small() {
  Timeline timeline;
  const std::uint32_t compute = timeline.add_track("compute", "rank 0");
  const std::uint32_t comm = timeline.add_track("comm");
  const std::uint32_t load = timeline.add_counter("load", "rank 0", "GB/s");
  timeline.add_span(compute, "conv", Time(Duration(1'499)), Time(Duration(2'500)),
                    {.bytes = 40, .bucket = 0, .tensors = "conv.w, \"conv.b\"", .flow = 7});
  timeline.add_span(comm, "g1", Time(Duration(3'000'000)), Time(Duration(4'000'000)), {.flow = 7});
  timeline.add_span(comm, "lonely", Time(Duration(4'000'000)), Time(Duration(4'000'000)),
                    {.flow = 8});
  timeline.add_value(load, Time(Duration(2'500)), 1.5);
  return timeline;
}

TEST(Timeline, KeepsTracksAndSpansInOrder) {
  const Timeline timeline = small();
  ASSERT_EQ(timeline.tracks().size(), 3U);
  EXPECT_EQ(timeline.tracks()[0].actor, "rank 0");
  EXPECT_EQ(timeline.tracks()[1].name, "comm");
  EXPECT_TRUE(timeline.tracks()[2].is_counter);
  ASSERT_EQ(timeline.spans().size(), 3U);
  EXPECT_EQ(timeline.spans()[1].start, Time(Duration(3'000'000)));
}

TEST(Timeline, DropsWhatLiesOutsideOfItsWindow) {
  Timeline timeline(
      {.from = Time(Duration(10)), .to = Time(Duration(20)), .first_rank = 2, .last_rank = 3});
  const auto track = timeline.add_track("t");
  const auto counter = timeline.add_counter("c", "", "B");
  for (int t = 0; t < 40; t += 5) {
    timeline.add_span(track, "s", Time(Duration(t)), Time(Duration(t + 5)));
    timeline.add_value(counter, Time(Duration(t)), 1);
  }
  // 5 to 10 touches the window, 20 to 25, too.
  EXPECT_EQ(timeline.spans().size(), 4U);
  EXPECT_EQ(timeline.values().size(), 3U);
  EXPECT_FALSE(timeline.shows_rank(1));
  EXPECT_TRUE(timeline.shows_rank(3));
  EXPECT_FALSE(timeline.shows_rank(4));
}

TEST(Timeline, ChromeEventsAreInMicroseconds) {
  // 1499 ps = 0.001499 us; 2500 - 1499 = 1001 ps.
  EXPECT_EQ(parse_json(small().chrome_json(), "chrome").dump(),
            R"([{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"rank 0"}},)"
            R"({"ph":"M","name":"thread_name","pid":1,"tid":0,"args":{"name":"compute"}},)"
            R"({"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"comm"}},)"
            R"({"ph":"X","name":"conv","pid":1,"tid":0,"ts":0.001499,"dur":0.001001,)"
            R"("args":{"bytes":40,"bucket":0,"tensors":"conv.w, \"conv.b\""}},)"
            R"({"ph":"X","name":"g1","pid":0,"tid":1,"ts":3.0,"dur":1.0},)"
            R"({"ph":"X","name":"lonely","pid":0,"tid":1,"ts":4.0,"dur":0.0},)"
            R"({"ph":"s","name":"flow","cat":"flow","id":7,"pid":1,"tid":0,"ts":0.001499},)"
            R"({"ph":"f","name":"flow","cat":"flow","id":7,"pid":0,"tid":1,"ts":3.0,"bp":"e"},)"
            R"({"ph":"C","name":"load","pid":1,"ts":0.0025,"args":{"GB/s":1.5}}])");
}

TEST(Timeline, AnEmptyOneIsValid) {
  EXPECT_EQ(parse_json(Timeline().chrome_json(), "chrome"), Json::array());
  EXPECT_EQ(Timeline().perfetto(), "");
}

/// Decoded by protoc, from the fields that tests/sim/events/perfetto.proto names as Perfetto does;
/// "" where there is no protoc. A field that it does not name comes out as a number.
std::string decoded(const std::string& bytes) {
  const std::string file =
      testing::TempDir() + "timeline_test." + std::to_string(std::rand()) + ".pftrace";
  std::FILE* const out = std::fopen(file.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), out);
  std::fclose(out);
  const std::string command =
      "protoc --decode=perfetto.protos.Trace --proto_path=" STEPTIME_TESTS_DIR
      "/sim/events perfetto.proto <" +
      file + " 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr)
    text += part.data();
  std::remove(file.c_str());
  return text;
}

TEST(Timeline, PerfettoIsWhatProtocReads) {
  const std::string text = decoded(small().perfetto());
  if (text.empty()) GTEST_SKIP() << "no protoc: apt-get install protobuf-compiler";
  // Nanoseconds, rounded: 1.499 to 1, 2.5 to 3. Tracks count from 1, and actors come behind them.
  const std::string head = "  trusted_packet_sequence_id: 1\n";
  const auto track = [&](const std::string& inside) {
    return "packet {\n" + head + "  track_descriptor {\n" + inside + "  }\n}\n";
  };
  const auto event = [&](int time, const std::string& inside) {
    return "packet {\n  timestamp: " + std::to_string(time) + "\n" + head + "  track_event {\n" +
           inside + "  }\n}\n";
  };
  EXPECT_EQ(
      text,
      track("    uuid: 4\n    name: \"rank 0\"\n") +
          track("    uuid: 1\n    name: \"compute\"\n    parent_uuid: 4\n") +
          track("    uuid: 2\n    name: \"comm\"\n") +
          track("    uuid: 3\n    name: \"load\"\n    parent_uuid: 4\n    counter {\n"
                "      unit_name: \"GB/s\"\n    }\n") +
          event(1,
                "    debug_annotations {\n      int_value: 40\n      name: \"bytes\"\n    }\n"
                "    debug_annotations {\n      int_value: 0\n      name: \"bucket\"\n    }\n"
                "    debug_annotations {\n      string_value: \"conv.w, \\\"conv.b\\\"\"\n"
                "      name: \"tensors\"\n    }\n"
                "    type: TYPE_SLICE_BEGIN\n    track_uuid: 1\n    name: \"conv\"\n"
                "    flow_ids: 7\n") +
          event(3, "    type: TYPE_SLICE_END\n    track_uuid: 1\n") +
          event(3000,
                "    type: TYPE_SLICE_BEGIN\n    track_uuid: 2\n    name: \"g1\"\n"
                "    flow_ids: 7\n") +
          event(4000, "    type: TYPE_SLICE_END\n    track_uuid: 2\n") +
          event(4000,
                "    type: TYPE_SLICE_BEGIN\n    track_uuid: 2\n    name: \"lonely\"\n"
                "    flow_ids: 8\n") +
          event(4000, "    type: TYPE_SLICE_END\n    track_uuid: 2\n") +
          event(3, "    type: TYPE_COUNTER\n    track_uuid: 3\n    double_counter_value: 1.5\n"));
}

}  // namespace
}  // namespace steptime
