// Do lines know where they stand, and take apart what stands on them?
#include "models/importers/profile_text.h"

#include "tests/models/importers/import_text.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::string kFile = "x.log";

std::vector<std::string> fields(const std::string& row) {
  return ProfileLine(kFile, 1, row).fields(row, 2);
}

std::string field_error(const std::string& row) {
  return message_of<InputError>([&] { fields(row); });
}

TEST(ProfileText, MessageIsBehindTheLoggersPrefix) {
  const std::string logged = "W0219 13:29:33.944885 66221 a.cpp:112] [0, 1]";
  EXPECT_EQ(ProfileLine(kFile, 1, logged).message(), "[0, 1]");
  EXPECT_TRUE(ProfileLine(kFile, 1, logged).is_logged());
  for (const std::string bare : {"[0] 1", "Input [0] 1", "I0219", ""}) {
    EXPECT_EQ(ProfileLine(kFile, 1, bare).message(), bare);
    EXPECT_FALSE(ProfileLine(kFile, 1, bare).is_logged());
  }
}

TEST(ProfileText, ARowHasAllItsFields) {
  EXPECT_EQ(fields("a,"), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(field_error("a,b,c"),
            "x.log: line 1: expected 2 comma-separated fields, got \"a,b,c\"");
}

TEST(ProfileText, NoteIsAppended) {
  ImportRequest request = request_of("");
  EXPECT_EQ(empty_trace(request, "Derived.").provenance["note"], "Derived.");
  request.provenance["note"] = "Given.";
  EXPECT_EQ(empty_trace(request, "Derived.").provenance["note"], "Given. Derived.");
  request.provenance = nullptr;
  EXPECT_EQ(empty_trace(request, "Derived.").provenance["note"], "Derived.");
}

TEST(ProfileText, TotalsFitATraceFile) {
  Trace trace;
  const auto error = [&] { return message_of<InputError>([&] { check_imported(trace, kFile); }); };
  EXPECT_EQ(error(), "x.log: expected at least one layer, got none");
  trace.layers.assign(11, {.name = "slow", .forward = from_seconds(1e5)});
  EXPECT_EQ(error(), "x.log: expected at most 1e+06 s of compute in one step, got 1.1e+06 s");
  trace.layers.assign(2, {.name = "big", .tensors = {{"big", std::int64_t{1} << 50}}});
  EXPECT_EQ(error(), "x.log: expected at most 2^50 parameters, got 2.2518e+15");
  trace.layers.pop_back();
  EXPECT_EQ(error(), "no error");
}

TEST(ProfileText, LearnableLayersAreThoseWithTensors) {
  const LearnableLayers learnable = learnable_layers(request_of("", "caffe/alexnet"), "");
  EXPECT_EQ(learnable.table, "caffe/alexnet");
  ASSERT_EQ(learnable.layers.size(), 8U);
  EXPECT_EQ(learnable.layers.front().name, "conv1");
  EXPECT_EQ(learnable.layers.front().params(), 34848 + 96);
  EXPECT_EQ(learnable.layers.back().name, "fc8");
  EXPECT_EQ(learnable.layers.back().params(), 4096000 + 1000);
}

TEST(ProfileText, LearnableLayersNeedATable) {
  EXPECT_EQ(message_of<InputError>([] { learnable_layers(request_of(""), "there are none"); }),
            "x.log: expected a layer table (--layer-table NAME), as there are none");
  const std::string unknown =
      message_of<InputError>([] { learnable_layers(request_of("", "caffe/alexnt"), ""); });
  EXPECT_EQ(unknown.substr(0, unknown.find(';')), "x.log: unknown layer table \"caffe/alexnt\"");
  EXPECT_NE(unknown.find(", caffe/alexnet, "), std::string::npos) << unknown;
}

}  // namespace
}  // namespace steptime
