// Are real traces of PyTorch's profiler what their timeline says? (tests/data/imports/README.md)
#include "sim/core/error.h"
#include "tests/models/importers/import_text.h"
#include "tests/models/importers/kineto_text.h"
#include "tests/support/scratch_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kEach = R"({"type": "kineto"})";
constexpr const char* kWhole = R"({"type": "kineto", "layers": "whole"})";

std::string data(const std::string& name) {
  return STEPTIME_TESTS_DIR "/data/imports/" + name + ".json.gz";
}

Imported import_files(const char* importer, const std::vector<std::string>& paths) {
  ImportRequest request = request_of("");
  request.paths = paths;
  request.file = paths.front();
  return make<Importer>(importer)->import(request);
}

std::int64_t microseconds(const Json& seconds) {
  return std::llround(seconds.get<double>() * 1e6);
}

TEST(Kineto, ResNet50sPartsAreTheDevicesTime) {
  const Imported imported = import_files(kEach, {data("kineto_resnet50_1xV100")});
  EXPECT_TRUE(imported.missing.empty());
  const Json& steps = imported.trace->provenance["measured"]["steps"];
  ASSERT_EQ(steps.size(), 6U);
  std::int64_t all = 0;
  for (const Json& step : steps) {
    std::int64_t sum = 0;
    for (const char* part : {"forward_s", "backward_s", "optimizer_s", "copies_s", "other_s"})
      sum += microseconds(step[part]);
    EXPECT_EQ(step["communication_s"], 0);
    EXPECT_EQ(sum, microseconds(step["device_s"]));
    EXPECT_LT(microseconds(step["other_s"]), sum / 100);
    all += sum;
  }
  // The sum of "dur" over all of the file's kernels, copies and sets, 1,543 a step, and the 7,267
  // gaps of up to 10 us before those that were launched in time.
  EXPECT_EQ(all, 614'413 + 9'926);
  EXPECT_EQ(microseconds(steps[0]["device_s"]), 103'482 + 1'646);
  EXPECT_EQ(microseconds(steps[5]["device_s"]), 101'939 + 1'728);
  // Layers are rounded to a picosecond each.
  std::int64_t passes = 0;
  for (const Json& step : steps) {
    for (const char* part : {"forward_s", "backward_s", "optimizer_s"})
      passes += microseconds(step[part]);
  }
  EXPECT_NEAR(to_seconds(imported.trace->forward() + imported.trace->backward()) * 6e6,
              static_cast<double>(passes), 0.01);
}

TEST(Kineto, ResNet50sTensorsAreTheModelsInOrder) {
  const Trace trace = *import_files(kEach, {data("kineto_resnet50_1xV100")}).trace;
  EXPECT_EQ(trace.multiprocessors, 80);  // "numSms" of the first of its four GPUs
  std::vector<const Tensor*> tensors;
  for (const Layer& layer : trace.layers) {
    for (const Tensor& tensor : layer.tensors)
      tensors.push_back(&tensor);
  }
  ASSERT_EQ(tensors.size(), 161U);
  EXPECT_EQ(trace.params(), 25'557'032);
  // conv1, bn1 of torchvision's resnet50, ..., fc.weight, fc.bias
  const auto ends_with = [&](std::size_t i, const char* shape) {
    EXPECT_TRUE(tensors[i]->name.ends_with(std::string(" ") + shape)) << tensors[i]->name;
  };
  ends_with(0, "64x3x7x7");
  ends_with(1, "64");
  ends_with(2, "64");
  ends_with(3, "64x64x1x1");
  ends_with(156, "2048x512x1x1");
  ends_with(159, "1000x2048");
  ends_with(160, "1000");
  EXPECT_EQ(tensors[0]->params, 9408);
}

/// The layer table's tensors are the trace's, one by one; VGG-16 has 32, not 161.
TEST(Kineto, ALayerTableGivesNamesAndIsHeldAgainstTheShapes) {
  ImportRequest request = request_of("");
  request.paths = {data("kineto_resnet50_1xV100")};
  request.file = request.paths.front();
  request.layer_table = "torch/resnet50";
  const Trace trace = *make<Importer>(kEach)->import(request).trace;
  EXPECT_EQ(trace.params(), 25'557'032);
  const auto first = std::find_if(trace.layers.begin(), trace.layers.end(),
                                  [](const Layer& layer) { return !layer.tensors.empty(); });
  EXPECT_EQ(first->tensors.front().name, "conv1.weight");
  request.layer_table = "torch/vgg16";
  EXPECT_EQ(
      message_of<InputError>([&] { make<Importer>(kEach)->import(request); }),
      request.file + ": --layer-table torch/vgg16: expected the trace's 161 gradients, got 32");
}

TEST(Kineto, TwoGpusHaveCollectivesButNoLayers) {
  const std::string file = data("kineto_compiled_2xV100_rank1");
  EXPECT_EQ(message_of<InputError>([&] { import_files(kEach, {file}); }),
            file +
                ": no per-layer times: the backward pass is inside CompiledFunctionBackward, "
                "which is one operator; --set layers=whole imports the step as one layer");
  const Imported imported = import_files(kWhole, {file});
  const Trace& trace = *imported.trace;
  const Json& collectives = trace.provenance["measured"]["collectives"];
  ASSERT_EQ(collectives.size(), 404U);
  std::int64_t bytes = 0;
  for (const Json& c : collectives) {
    EXPECT_EQ(c["operation"], "all-reduce");
    EXPECT_EQ(c["bytes_from"], "inferred from the allocator");
    EXPECT_EQ(c["group"], 2);
    bytes += c["bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(bytes, 1'093'771'264);
  // The order of the file: what aten::clone allocated before each of the first five.
  const std::vector<std::int64_t> first{48128, 512, 72192, 512, 4915200};
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(collectives[i]["bytes"], first[i]);
  EXPECT_EQ(trace.params() * 4, 1'093'771'264);
  EXPECT_EQ(trace.layers.size(), 2U);  // the optimizer and the step
  EXPECT_EQ(trace.layers[1].tensors.size(), 404U);
  const auto says = [&](const std::string& sentence) {
    return std::find(imported.missing.begin(), imported.missing.end(), sentence) !=
           imported.missing.end();
  };
  EXPECT_TRUE(
      says("The sizes of 404 collectives a step are inferred from the allocation of the "
           "copy that each works on, which is rounded up to 512 B."));
  EXPECT_TRUE(
      says("1 of 2 ranks: a collective's time includes waiting for ranks whose traces are "
           "not here."));
  EXPECT_TRUE(says("2020 gradients in 5 steps have no shape and are left out."));
}

TEST(Kineto, DlrmsRanksEndTheirCollectivesTogether) {
  std::vector<std::string> files;
  for (int rank = 0; rank < 8; ++rank)
    files.push_back(data(fmt::format("kineto_dlrm_8xV100_rank{}", rank)));
  const Imported imported = import_files(kWhole, files);
  const Json& measured = imported.trace->provenance["measured"];
  EXPECT_EQ(measured["ranks"], 8);
  EXPECT_EQ(measured["steps"].size(), 8U);
  const Json& collectives = measured["collectives"];
  ASSERT_EQ(collectives.size(), 8U);
  // Latest start to latest end, us; bytes: "Input Dims" of the annotation times its type's size.
  const std::vector<std::int64_t> transfer{11, 8, 8, 8, 87, 11, 23, 69};
  const std::vector<std::int64_t> bytes{6144 * 4,   24 * 8,   384 * 4, 3392 * 4,
                                        394241 * 4, 6144 * 4, 112 * 4, 226960 * 4};
  for (std::size_t i = 0; i < 8; ++i) {
    const bool reduces = i == 4 || i >= 6;
    EXPECT_EQ(collectives[i]["operation"], reduces ? "all-reduce" : "all-to-all") << i;
    EXPECT_EQ(collectives[i]["bytes"], bytes[i]) << i;
    EXPECT_EQ(collectives[i]["group"], 8);
    EXPECT_EQ(microseconds(collectives[i]["transfer_s"]), transfer[i]) << i;
    EXPECT_LE(microseconds(collectives[i]["ends_differ_s"]), 10) << i;
  }
  EXPECT_EQ(microseconds(collectives[0]["starts_differ_s"]), 7'624);
  EXPECT_NE(imported.trace->domain.find("; 5 all-to-all a step are left out"), std::string::npos);
}

TEST(Kineto, EachRankHasOneFile) {
  const std::string file = data("kineto_dlrm_8xV100_rank3");
  EXPECT_EQ(message_of<InputError>([&] {
              import_files(kWhole, {file, file});
            }),
            file + ": /distributedInfo/rank: 3, as in " + file + ": expected a file for each rank");
}

TEST(Kineto, DamagedTextIsRefusedOnOneLine) {
  EXPECT_EQ(first_mishandled(kEach, two_layers().text().substr(0, 900)), "");
  EXPECT_EQ(first_mishandled(kWhole, R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"ncclA",
    "ts":1,"dur":2,"args":{"correlation":3,"Input Dims":[[2,3]]}}]})"),
            "");
}

TEST(Kineto, AFileCutShortIsRefused) {
  const std::string whole = read_file(data("kineto_dlrm_8xV100_rank0"));
  const ScratchFile cut("cut.json.gz", whole.substr(0, whole.size() / 2));
  const std::string error = message_of<InputError>([&] { import_files(kWhole, {cut.path()}); });
  EXPECT_TRUE(error.starts_with(cut.path() + ": byte ")) << error;
  EXPECT_TRUE(error.ends_with("unexpected end of the gzip data")) << error;
}

}  // namespace
}  // namespace steptime
