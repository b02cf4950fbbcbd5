// Does the importer read PipeDream's profiles, and refuse what is none?
#include "sim/core/units.h"
#include "tests/models/importers/import_text.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using namespace std::chrono_literals;

constexpr const char* kImporter = R"({"type": "pipedream"})";

/// node1 (input) -> node2 (convolution) -> node3 (a tuple) -> node10 (linear), as printed: in no
/// order.
const std::string kGraph =
    "node10 -- Linear(in_features=4, out_features=2, bias=True) -- forward_compute_time=0.500, "
    "backward_compute_time=0.250, activation_size=64.0, parameter_size=40.000\n"
    "node1 -- Input0 -- forward_compute_time=635.902, backward_compute_time=0.000, "
    "activation_size=1024.0, parameter_size=0.000\n"
    "node3 -- LSTM(4, 4) -- forward_compute_time=0.002, backward_compute_time=0.004, "
    "activation_size=[64.0; 16.0; 16.0], parameter_size=0.000 -- stage_id=1\n"
    "node2 -- Conv2d(3, 64, kernel_size=(7, 7), bias=False) -- forward_compute_time=9.706, "
    "backward_compute_time=4.551, activation_size=411041792.000, parameter_size=37632.000\n"
    "\tnode1 -- node2\n"
    "\tnode2 -- node3\n"
    "\tnode3 -- node10";
const std::string kHeader = "node,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes\n";
const std::string kCsv =
    kHeader +
    "1,Input0,635.902,0.0,1024.0,0\n"
    "2,\"Conv2d(3, 64, kernel_size=(7, 7), bias=False)\",9.706,4.551,"
    "411041792.000,37632\n"
    "3,\"LSTM(4, 4)\",0.002,0.004,[64.0; 16.0; 16.0],0\n"
    "10,\"Linear(in_features=4, out_features=2, bias=True)\",0.5,0.25,64.0,40\n";

TEST(PipeDream, LayersAreOrderedByNodeAndInputsLeftOut) {
  const Trace trace = import_text(kImporter, kGraph);
  ASSERT_EQ(trace.layers.size(), 3U);
  EXPECT_EQ(trace.layers[0].name, "node2:Conv2d");
  EXPECT_EQ(trace.layers[0].forward, 9706us);
  EXPECT_EQ(trace.layers[0].backward, 4551us);
  ASSERT_EQ(trace.layers[0].tensors.size(), 1U);
  EXPECT_EQ(trace.layers[0].tensors[0].name, "node2:Conv2d");
  EXPECT_EQ(trace.layers[0].params(), 37632 / 4);
  EXPECT_EQ(trace.layers[1].name, "node3:LSTM");
  EXPECT_TRUE(trace.layers[1].tensors.empty());
  EXPECT_EQ(trace.layers[2].name, "node10:Linear");
  EXPECT_EQ(trace.layers[2].params(), 10);
  EXPECT_EQ(trace.forward(), 9706us + 2us + 500us);
  EXPECT_EQ(trace.provenance["note"],
            "Input nodes (the wait for data) are left out; the parameters of a layer are one "
            "tensor of parameter bytes / 4.");
}

TEST(PipeDream, CsvSaysTheSameAsTheGraph) {
  EXPECT_EQ(write_trace(import_text(kImporter, kCsv)), write_trace(import_text(kImporter, kGraph)));
}

TEST(PipeDream, RefusesNodesThatAreNone) {
  const auto error = [](const std::string& text) { return import_error(kImporter, text); };
  const std::string times =
      "forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=";
  EXPECT_EQ(error("\n"), "x.log: expected a profile, got an empty file");
  EXPECT_EQ(
      error("hello\n"),
      "x.log: line 1: expected \"nodeN -- LAYER -- forward_compute_time=...\", got \"hello\"");
  EXPECT_EQ(error("node1 -- Add -- " + times + "4 -- stage=1\n"),
            "x.log: line 1: expected \"nodeN -- LAYER -- forward_compute_time=...\", got "
            "\"node1 -- Add -- forward_compute_time=1, backward_compute_ti...");
  EXPECT_EQ(error("node1 -- Add -- forward_compute_time=1\n"),
            "x.log: line 1: expected forward_compute_time=, backward_compute_time=, "
            "activation_size=, parameter_size=, got \"forward_compute_time=1\"");
  EXPECT_EQ(error("n1 -- Add -- " + times + "4\n"),
            "x.log: line 1: expected a node \"nodeN\", got \"n1\"");
  EXPECT_EQ(error("node1 -- Add -- " + times + "6\n"),
            "x.log: line 1: expected a multiple of 4 parameter bytes, got \"6\"");
  EXPECT_EQ(error("node1 -- Add -- " + times + "0.5\n"),
            "x.log: line 1: expected parameter bytes, a whole number from 0 to 2^50, got \"0.5\"");
  EXPECT_EQ(error("node1 -- Add -- " + times + "4\nnode1 -- Add -- " + times + "4\n"),
            "x.log: line 2: expected each node once, got \"node1 again\"");
  EXPECT_EQ(error("node1 -- Input -- " + times + "0\n"),
            "x.log: expected at least one layer, got none");
}

TEST(PipeDream, RefusesEdgesThatDoNotGoForward) {
  const std::string graph = kGraph + "\n";
  EXPECT_EQ(import_error(kImporter, graph + "\tnode1\n"),
            "x.log: line 8: expected an edge \"<tab>nodeN -- nodeM\", got \"\\tnode1\"");
  EXPECT_EQ(import_error(kImporter, graph + "\tnode1 -- node4\n"),
            "x.log: line 8: expected an edge between nodes, got \"node4\"");
  EXPECT_EQ(import_error(kImporter, graph + "\tnode3 -- node2\n"),
            "x.log: line 8: expected an edge from a lower to a higher node, got "
            "\"\\tnode3 -- node2\"");
}

TEST(PipeDream, RefusesRowsThatAreNone) {
  EXPECT_EQ(import_error(kImporter, kHeader + "1,\"Conv2d(3, 64\",1,1,1\n"),
            "x.log: line 2: expected 6 comma-separated fields, got "
            "\"1,\\\"Conv2d(3, 64\\\",1,1,1\"");
  EXPECT_EQ(import_error(kImporter, kHeader + "1,\"Conv2d,1,1,1,1\n"),
            "x.log: line 2: expected a closing quote, got \"1,\\\"Conv2d,1,1,1,1\"");
  EXPECT_EQ(import_error(kImporter, kHeader), "x.log: expected at least one layer, got none");
}

TEST(PipeDream, HasItsOwnParameterCounts) {
  EXPECT_EQ(import_error(kImporter, kGraph, "caffe/alexnet"),
            "x.log: expected no layer table, as the profile has parameter counts, got "
            "\"caffe/alexnet\"");
}

TEST(PipeDream, NoDamageToTheTextIsMishandled) {
  EXPECT_EQ(first_mishandled(kImporter, kGraph), "");
  EXPECT_EQ(first_mishandled(kImporter, kCsv), "");
}

}  // namespace
}  // namespace steptime
