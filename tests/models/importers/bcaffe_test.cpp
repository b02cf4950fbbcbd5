// Does the importer read B-Caffe's overheads, and refuse those of another network?
#include "sim/core/units.h"
#include "tests/models/importers/import_text.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using namespace std::chrono_literals;

constexpr const char* kImporter = R"({"type": "bcaffe"})";
constexpr const char* kTable = "caffe/alexnet";

/// The blobs of the table, rounded up to 64: of its counts only 96 and 1000 are no multiples.
constexpr std::array<std::int64_t, 16> kCounts{34848,    96,   307200,  256, 884736,   384,
                                               663552,   384,  442368,  256, 37748736, 4096,
                                               16777216, 4096, 4096000, 1000};

std::int64_t padded(std::int64_t count) {
  return (count + 63) / 64 * 64;
}

std::string logged(const std::string& message) {
  return "I0219 13:29:33.944885 66221 distributed.cpp:112] " + message + "\n";
}

/// A run in which layer i (from 0) takes (i + 1) `us` of backward time.
std::string run(int us) {
  std::string text;
  for (std::size_t i = 0; i < kCounts.size(); ++i) {
    text += logged(fmt::format("[{}, {}, {}, {}, 0]", i, padded(kCounts[i]),
                               (i / 2 + 1) * static_cast<std::size_t>(us), i % 2 == 0 ? 1169 : 0));
  }
  return text;
}

TEST(BCaffe, LastRunHasBackwardTimesAndTableHasCounts) {
  const Trace trace =
      import_text(kImporter, logged("------ overheads: [id, size, ...]") + run(7) + run(1), kTable);
  ASSERT_EQ(trace.layers.size(), 8U);
  EXPECT_EQ(trace.layers[0].name, "conv1");
  EXPECT_EQ(trace.layers[0].backward, 1us);
  ASSERT_EQ(trace.layers[0].tensors.size(), 2U);
  EXPECT_EQ(trace.layers[0].tensors[1].name, "conv1:bias");
  EXPECT_EQ(trace.layers[0].tensors[1].params, 96);
  EXPECT_EQ(trace.layers[7].name, "fc8");
  EXPECT_EQ(trace.layers[7].backward, 8us);
  EXPECT_EQ(trace.params(), 60965224);
  // 1 + 2 + ... + 8 = 36; forward half of it.
  EXPECT_EQ(trace.backward(), 36us);
  EXPECT_EQ(trace.forward_total, 18us);
  EXPECT_EQ(trace.provenance["note"],
            "Layers: layer table caffe/alexnet; counts without padding. The forward pass is not "
            "in the log: half of the backward pass, as in the authors' scripts/gmwfbp.py.");
}

TEST(BCaffe, PaddedCountsAreThoseOfTheLog) {
  const Trace trace = import_text(R"({"type": "bcaffe", "padded": true})", run(1), kTable);
  EXPECT_EQ(trace.layers[0].tensors[0].params, 34880);  // 545 x 64
  EXPECT_EQ(trace.layers[0].tensors[1].params, 128);
  EXPECT_EQ(trace.layers[7].tensors[1].params, 1024);
  EXPECT_EQ(trace.params(), 60965224 + 32 + 32 + 24);
}

TEST(BCaffe, CsvSaysTheSameAsTheLog) {
  std::string csv = "blob_id,params,bwd_compute_us,comm_us\n";
  std::string merged = "blob_id,params,bwd_compute_us,comm_us,merged_comm_us\n";
  for (std::size_t i = 0; i < kCounts.size(); ++i) {
    const std::string row = fmt::format("{},{},{},1169.0", i, padded(kCounts[i]), i / 2 + 1);
    csv += row + "\n";
    merged += row + ",0.0\n";
  }
  const std::string expected = write_trace(import_text(kImporter, run(1), kTable));
  EXPECT_EQ(write_trace(import_text(kImporter, csv, kTable)), expected);
  EXPECT_EQ(write_trace(import_text(kImporter, merged, kTable)), expected);
}

TEST(BCaffe, RefusesRowsThatAreNone) {
  const auto error = [](const std::string& text) { return import_error(kImporter, text, kTable); };
  EXPECT_EQ(error("hello\n"),
            "x.log: line 1: expected \"[blob, count, backward us, communication us]\", perhaps "
            "with merged us, got \"hello\"");
  EXPECT_EQ(error(logged("[0, 9408, 15143.7]")),
            "x.log: line 1: expected \"[blob, count, backward us, communication us]\", perhaps "
            "with merged us, got \"[0, 9408, 15143.7]\"");
  EXPECT_EQ(error(logged("[0, 9408, x, 0]")),
            "x.log: line 1: expected a time in us from 0 to 1e+06 s, got \" x\"");
  EXPECT_EQ(error(logged("[0, 94.5, 1, 0]")),
            "x.log: line 1: expected a count, a whole number from 0 to 2^50, got \" 94.5\"");
  EXPECT_EQ(error(logged("[1, 64, 1, 0]")), "x.log: line 1: expected blob 0, got \"1\"");
  EXPECT_EQ(error(logged("[0, 64, 1, 0]") + logged("[2, 64, 1, 0]")),
            "x.log: line 2: expected blob 1 or 0, got \"2\"");
}

TEST(BCaffe, RefusesTheLogOfAnotherNetwork) {
  std::string text = run(1);
  EXPECT_EQ(import_error(kImporter, logged("[0, 34880, 1, 0]"), kTable),
            "x.log: expected the 16 blobs of caffe/alexnet in the last run, got 1");
  EXPECT_EQ(import_error(kImporter, text),
            "x.log: expected a layer table (--layer-table NAME), as B-Caffe names no layers");
  text.replace(text.find("307200"), 6, "307264");
  EXPECT_EQ(import_error(kImporter, text, kTable),
            "x.log: line 3: expected the count 307200 of conv2:weight, got \"307264\"");
  text = run(1);
  text.replace(text.find("[1, 128, 1,"), 11, "[1, 128, 2,");
  EXPECT_EQ(import_error(kImporter, text, kTable),
            "x.log: line 2: expected one backward time for all blobs of conv1, got "
            "\"[1, 128, 2, 0, 0]\"");
}

TEST(BCaffe, NoDamageToTheTextIsMishandled) {
  EXPECT_EQ(first_mishandled(kImporter, run(1).substr(0, 300), kTable), "");
  EXPECT_EQ(
      first_mishandled(kImporter, "blob_id,params,bwd_compute_us,comm_us\n0,34880,1,0\n1,128,1,0\n",
                       kTable),
      "");
}

}  // namespace
}  // namespace steptime
