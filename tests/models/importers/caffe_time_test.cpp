// Does the importer read what `caffe time` prints, and refuse what it did not print?
#include "sim/core/units.h"
#include "tests/models/importers/import_text.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using namespace std::chrono_literals;

constexpr const char* kImporter = R"({"type": "caffe-time"})";
constexpr const char* kTable = "caffe/alexnet";

/// The learnable layers of the table.
const std::vector<std::string> kLayers{"conv1", "conv2", "conv3", "conv4",
                                       "conv5", "fc6",   "fc7",   "fc8"};

std::string logged(const std::string& message) {
  return "I0228 23:01:59.849072 24487 caffe.cpp:369] " + message + "\n";
}

std::string passes(const std::string& layer, const std::string& forward,
                   const std::string& backward) {
  return logged("     " + layer + "\tforward: " + forward + " ms.") +
         logged("     " + layer + "\tbackward: " + backward + " ms.");
}

std::string learnable_passes() {
  std::string text;
  for (const std::string& layer : kLayers)
    text += passes(layer, "4.6583", "14.4471");
  return text;
}

std::string whole_log() {
  return logged("Iteration: 10 forward-backward time: 127.675 ms.") +
         logged("Average time per layer: ") + passes("input", "0.002", "1e-05") +
         learnable_passes() + logged("Average Forward pass: 42.405 ms.") +
         logged("Total Time: 1287.29 ms.");
}

std::string csv() {
  std::string text = "layer,fwd_ms,bwd_ms\ninput,0.002,1e-05\n";
  for (const std::string& layer : kLayers)
    text += layer + ",4.6583,14.4471\n";
  return text;
}

TEST(CaffeTime, LogHasTimesAndTableHasParameters) {
  const Trace trace = import_text(kImporter, whole_log(), kTable);
  EXPECT_EQ(trace.model, "net");
  EXPECT_EQ(trace.device, "gpu");
  EXPECT_EQ(trace.batch, 32);
  ASSERT_EQ(trace.layers.size(), 9U);
  EXPECT_EQ(trace.layers[0].name, "input");
  EXPECT_EQ(trace.layers[0].forward, 2us);
  EXPECT_EQ(trace.layers[0].backward, 10ns);
  EXPECT_TRUE(trace.layers[0].tensors.empty());
  EXPECT_EQ(trace.layers[1].name, "conv1");
  EXPECT_EQ(trace.layers[1].forward, 4658300ns);
  EXPECT_EQ(trace.layers[1].backward, 14447100ns);
  ASSERT_EQ(trace.layers[1].tensors.size(), 2U);
  EXPECT_EQ(trace.layers[1].tensors[0].name, "conv1:weight");
  EXPECT_EQ(trace.layers[1].tensors[0].params, 34848);
  EXPECT_EQ(trace.layers[1].tensors[1].params, 96);
  EXPECT_EQ(trace.params(), 60965224);
  EXPECT_FALSE(trace.forward_total);
  EXPECT_EQ(trace.provenance["source"], "a test");
  EXPECT_EQ(trace.provenance["note"], "Parameter counts: layer table caffe/alexnet.");
}

TEST(CaffeTime, CsvSaysTheSameAsTheLog) {
  EXPECT_EQ(write_trace(import_text(kImporter, csv(), kTable)),
            write_trace(import_text(kImporter, whole_log(), kTable)));
}

TEST(CaffeTime, TextWithoutHeadingAndPrefixIsAllLayers) {
  std::string text;
  for (const std::string& layer : kLayers)
    text += layer + "\tforward: 1 ms.\r\n" + layer + "\tbackward: 2 ms.\r\n";
  EXPECT_EQ(import_text(kImporter, text, kTable).backward(), 16ms);
}

TEST(CaffeTime, LastOfSeveralRunsCounts) {
  std::string earlier = whole_log();
  earlier.replace(earlier.find("4.6583"), 6, "9");
  EXPECT_EQ(write_trace(import_text(kImporter, earlier + whole_log(), kTable)),
            write_trace(import_text(kImporter, whole_log(), kTable)));
}

TEST(CaffeTime, NamesTheLineAndWhatItExpected) {
  const auto error = [](const std::string& text) { return import_error(kImporter, text, kTable); };
  EXPECT_EQ(error(""), "x.log: expected a profile, got an empty file");
  EXPECT_EQ(error("conv1\tforward: 1 ms\n"),
            "x.log: line 1: expected \"LAYER<tab>forward: NUMBER ms.\", got "
            "\"conv1\\tforward: 1 ms\"");
  EXPECT_EQ(error("conv1\tforward: -1 ms.\n"),
            "x.log: line 1: expected a time in ms from 0 to 1e+06 s, got \"-1\"");
  EXPECT_EQ(error("conv1\tforward: nan ms.\n"),
            "x.log: line 1: expected a time in ms from 0 to 1e+06 s, got \"nan\"");
  EXPECT_EQ(error("\tforward: 1 ms.\n"),
            "x.log: line 1: expected a name in printable ASCII, got \"\"");
  EXPECT_EQ(error("conv1\tforward: 1 ms.\n"),
            "x.log: line 1: expected a backward line behind the forward line of conv1, got "
            "\"conv1\\tforward: 1 ms.\"");
  EXPECT_EQ(error("conv1\tforward: 1 ms.\n\nconv2\tbackward: 1 ms.\n"),
            "x.log: line 3: expected the backward line of conv1, got \"conv2\"");
  EXPECT_EQ(error(logged("Average time per layer:") + learnable_passes()),
            "x.log: expected \"Average Forward pass:\" behind the layers, got the end of the file");
  EXPECT_EQ(error("layer,fwd_ms,bwd_ms\nconv1,1\n"),
            "x.log: line 2: expected 3 comma-separated fields, got \"conv1,1\"");
}

TEST(CaffeTime, EachLearnableLayerOfTheTableHasOneRow) {
  EXPECT_EQ(import_error(kImporter, csv() + "conv2,1,1\n", kTable),
            "x.log: line 11: expected one row for each learnable layer, got \"conv2 again\"");
  EXPECT_EQ(import_error(kImporter, "layer,fwd_ms,bwd_ms\nconv1,1,1\n", kTable),
            "x.log: expected a row for conv2, a learnable layer of caffe/alexnet, got none");
  EXPECT_EQ(import_error(kImporter, csv()),
            "x.log: expected a layer table (--layer-table NAME), as caffe time prints no "
            "parameter counts");
}

TEST(CaffeTime, NoDamageToTheTextIsMishandled) {
  EXPECT_EQ(first_mishandled(kImporter, csv(), kTable), "");
  EXPECT_EQ(
      first_mishandled(kImporter, passes("conv1", "1", "2") + passes("fc8", "1", "2"), kTable), "");
}

}  // namespace
}  // namespace steptime
