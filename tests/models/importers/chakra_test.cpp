// Is a real Chakra trace what its nodes say, and is what it lacks said?
#include "sim/core/error.h"
#include "tests/models/importers/import_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using namespace std::chrono_literals;

constexpr const char* kImporter = R"({"type": "chakra"})";

Imported import_file(const std::string& name) {
  ImportRequest request = request_of("");
  request.file = STEPTIME_TESTS_DIR "/data/imports/" + name;
  request.paths = {request.file};
  return make<Importer>(kImporter)->import(request);
}

bool says(const Imported& imported, const std::string& sentence) {
  return std::find(imported.missing.begin(), imported.missing.end(), sentence) !=
         imported.missing.end();
}

TEST(Chakra, AnEtHasTheBucketsOfTheStep) {
  const Imported imported = import_file("chakra_resnet50.et.gz");
  const Trace& trace = *imported.trace;
  ASSERT_EQ(trace.layers.size(), 1U);
  // Device nodes of operators before, and from the first to the last "backward".
  EXPECT_EQ(trace.layers[0].forward, 89'781us);
  EXPECT_EQ(trace.layers[0].backward, 197'745us);
  // DDP's five buckets, the last that was sent first: together ResNet-50.
  ASSERT_EQ(trace.layers[0].tensors.size(), 5U);
  EXPECT_EQ(trace.layers[0].tensors.back().params, 2'049'000);  // fc: 1000 x 2048 + 1000
  EXPECT_EQ(trace.params(), 25'557'032);
  const Json& measured = trace.provenance["measured"];
  EXPECT_EQ(measured["from"], "Chakra ET, schema 1.0.1");
  EXPECT_DOUBLE_EQ(measured["steps"][0]["device_s"].get<double>(), 0.329543);
  EXPECT_DOUBLE_EQ(measured["steps"][0]["communication_s"].get<double>(), 0.036715);
  ASSERT_EQ(measured["collectives"].size(), 7U);
  EXPECT_EQ(measured["collectives"][0]["operation"], "broadcast");
  EXPECT_EQ(measured["collectives"][0]["bytes"], 212'480);
  EXPECT_EQ(measured["collectives"][2]["operation"], "all-reduce");
  EXPECT_EQ(measured["collectives"][2]["bytes"], 8'196'000);
  EXPECT_TRUE(says(imported, "157 device nodes have no runtime."));
}

TEST(Chakra, TheJsonFormHasNoSizesAndSaysSo) {
  const Imported imported = import_file("chakra_resnet50.json.gz");
  EXPECT_TRUE(
      says(imported, "7 of 7 collectives have no size in the trace: the JSON form has none."));
  EXPECT_TRUE(says(imported, "No gradient has a size: a run communicates nothing."));
  const Trace& trace = *imported.trace;
  EXPECT_EQ(trace.params(), 0);
  EXPECT_EQ(trace.forward() + trace.backward(), 287'526us);  // as in the ET
  const Json& collectives = trace.provenance["measured"]["collectives"];
  ASSERT_EQ(collectives.size(), 7U);
  for (const Json& c : collectives) {
    EXPECT_FALSE(c.contains("bytes"));
    EXPECT_EQ(c["bytes_from"], "missing");
  }
}

TEST(Chakra, WithoutABackwardOperatorThePassesAreOne) {
  EXPECT_EQ(import_error(kImporter, R"({"workload_graph": [{"Id": 1, "Name": "a"}]})"),
            "x.log: expected an operator named \"...backward...\", which tells the passes apart, "
            "got none");
}

TEST(Chakra, DamagedTextIsRefusedOnOneLine) {
  EXPECT_EQ(first_mishandled(kImporter, R"({"workload_graph": [{"Id": 1, "Name": "mm_backward",
    "NodeType": 4, "data_deps": [], "is_cpu_op": true}, {"Id": 2, "Name": "ncclAllReduce",
    "NodeType": 7, "runtime": 5, "data_deps": [1], "is_cpu_op": false}]})"),
            "");
}

}  // namespace
}  // namespace steptime
