// Is every event read as the profiler meant it, in all its versions?
#include "models/importers/trace_events.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Category = TraceEvent::Category;

std::vector<TraceEvent> events(const std::string& list, TraceHeader* header = nullptr,
                               const std::string& head = "") {
  const std::string text = "{" + head + "\"traceEvents\":[" + list + "]}";
  ByteStream stream("x.json", text);
  std::vector<TraceEvent> read;
  const TraceHeader h = read_trace_events(stream, [&](const TraceEvent& e) { read.push_back(e); });
  if (header != nullptr) *header = h;
  return read;
}

std::string error(const std::string& text) {
  return message_of<InputError>([&] {
    ByteStream stream("x.json", text);
    read_trace_events(stream, [](const TraceEvent&) {});
  });
}

TEST(TraceEvents, AnOperatorHasItsNumbersAndShapes) {
  const auto read = events(
      R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":77,"ts":12,"dur":3,"args":{
      "External id":4,"Input Dims":[[32,1000],[],[1000,2048]],"Input type":["float","","float"],
      "Fwd thread id":1,"Sequence number":1243}})");
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].category, Category::kOperator);
  EXPECT_EQ(read[0].name, "aten::mm");
  EXPECT_EQ(read[0].thread, "77");
  EXPECT_EQ(read[0].start_ns, 12'000);
  EXPECT_EQ(read[0].duration_ns, 3'000);
  EXPECT_EQ(read[0].sequence, 1243);
  EXPECT_EQ(read[0].forward_thread, 1);
  EXPECT_EQ(read[0].shapes, (std::vector<std::vector<std::int64_t>>{{32, 1000}, {}, {1000, 2048}}));
  EXPECT_EQ(read[0].types, (std::vector<std::string>{"float", "", "float"}));
}

TEST(TraceEvents, TimesAreExactToTheNanosecondFarFromZero) {
  const auto read = events(
      R"({"ph":"X","cat":"kernel","name":"k","tid":"stream 7","ts":1694128201427784.123,"dur":0.5},
         {"ph":"X","cat":"kernel","name":"k","tid":7,"ts":1694128201427784,"dur":1.0009})");
  EXPECT_EQ(read[0].start_ns, 1694128201427784123);
  EXPECT_EQ(read[0].duration_ns, 500);
  EXPECT_EQ(read[0].thread, "stream 7");
  EXPECT_EQ(read[1].duration_ns, 1000);  // what is below a nanosecond is cut off
}

TEST(TraceEvents, OldAndNewCategoriesAreOne) {
  const auto read = events(R"({"ph":"X","cat":"Operator","name":"a","tid":1,"ts":1,"dur":1},
    {"ph":"X","cat":"Runtime","name":"b","tid":1,"ts":1,"dur":1,"args":{"correlation":5}},
    {"ph":"X","cat":"Kernel","name":"c","tid":1,"ts":1,"dur":1,"args":{"correlation":5}},
    {"ph":"X","cat":"gpu_memset","name":"d","tid":1,"ts":1,"dur":1},
    {"ph":"s","cat":"async","name":"flow","tid":1,"ts":1},
    {"ph":"i","name":"[memory]","tid":1,"ts":9,"args":{"Device Type":1,"Bytes":512}},
    {"ph":"X","cat":"Trace","name":"PyTorch Profiler","tid":"t","ts":1,"dur":1})");
  ASSERT_EQ(read.size(), 5U);
  EXPECT_EQ(read[0].category, Category::kOperator);
  EXPECT_EQ(read[1].category, Category::kRuntime);
  EXPECT_EQ(read[1].correlation, 5);
  EXPECT_EQ(read[2].category, Category::kKernel);
  EXPECT_EQ(read[3].category, Category::kSet);
  EXPECT_EQ(read[4].category, Category::kAllocation);
  EXPECT_EQ(read[4].bytes, 512);
}

TEST(TraceEvents, TheHeadNamesDeviceAndRank) {
  TraceHeader header;
  events("", &header, R"("deviceProperties":[{"id":0,"name":"V100"},{"id":1,"name":"other"}],
                         "distributedInfo":{"backend":"nccl","rank":3,"world_size":8},)");
  EXPECT_EQ(header.device, "V100");
  EXPECT_EQ(header.rank, 3);
  EXPECT_EQ(header.ranks, 8);
  events("", &header);
  EXPECT_EQ(header.rank, -1);
}

TEST(TraceEvents, WhatIsNoTraceIsOneLine) {
  EXPECT_EQ(error("{}"),
            "x.json: /traceEvents: required but missing: no trace of PyTorch's profiler");
  EXPECT_EQ(error("[1]"),
            "x.json: /traceEvents: required but missing: no trace of PyTorch's profiler");
  EXPECT_TRUE(error("").starts_with("x.json: byte 1: not JSON: ")) << error("");
  EXPECT_TRUE(error(R"({"traceEvents":[{"ph":"X",)").starts_with("x.json: byte 27: not JSON: "));
  EXPECT_EQ(error(std::string(100, '[')), "x.json: nested deeper than 64 levels");
  const std::string event = R"({"traceEvents":[{},{"ph":"X","cat":"kernel","name":"k")";
  EXPECT_EQ(error(event + "}]}"),
            "x.json: /traceEvents/1: expected \"ts\", a time in microseconds");
  EXPECT_EQ(error(event + R"(,"ts":1}]})"),
            "x.json: /traceEvents/1: expected \"dur\", a time in microseconds");
  EXPECT_EQ(error(event + R"(,"ts":1,"dur":-1}]})"),
            "x.json: /traceEvents/1: \"dur\": expected microseconds from 0 to 1e+12, got -1");
  EXPECT_EQ(error(event + R"(,"ts":1e300}]})"),
            "x.json: /traceEvents/1: \"ts\": expected microseconds from 0 to 9e+15, got 1e300");
}

}  // namespace
}  // namespace steptime
