// Do the shipped traces hold what their sources hold?
#include "sim/config/data_dir.h"
#include "sim/workload/workload.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Shipped {
  std::string file;
  std::int64_t batch;
  std::size_t layers;
  std::int64_t learnable;
  std::int64_t params;
  double forward_ms;  ///< sums of the source's columns
  double backward_ms;
};

/// Parameter counts of known networks: AlexNet in its one-tower variant 61,100,840, VGG-16
/// 138,357,544, VGG-A 132,863,336, ResNet-50 25,557,032, GoogLeNet without auxiliary classifiers
/// 6,998,552.
const std::vector<Shipped> kShipped{
    {"k80/googlenet.json", 64, 64, 64, 13378280, 102.667156, 205.334312},
    {"titanx/alexnet.json", 128, 17, 8, 61100840, 42.2885034, 86.1396466},
    {"titanx/googlenet.json", 128, 149, 58, 6998552, 145.3054332, 337.2318512},
    {"titanx/vgg-a.json", 64, 25, 11, 132863336, 222.614603, 457.1260848},
    {"titanx/overfeat.json", 128, 17, 8, 145920872, 141.9201982, 287.8442726},
    {"pipedream/alexnet.json", 256, 22, 8, 61100840, 44.801, 40.52},
    {"pipedream/densenet121.json", 64, 428, 242, 7978856, 177.404, 148.751},
    {"pipedream/gnmt.json", 32, 45, 11, 193765952, 33.533, 55.883},
    {"pipedream/inception_v3.json", 128, 325, 194, 27161264, 289.269, 399.769},
    {"pipedream/nasnetalarge.json", 16, 1250, 758, 92239590, 409.087, 249.21},
    {"pipedream/nasnetamobile.json", 128, 920, 554, 8585954, 322.921, 261.363},
    {"pipedream/resnet101.json", 64, 346, 209, 44549160, 197.306, 213.786},
    {"pipedream/resnet18.json", 256, 70, 41, 11689512, 107.446, 152.296},
    {"pipedream/resnet50.json", 128, 176, 107, 25557032, 182.488, 260.931},
    {"pipedream/resnext50.json", 128, 176, 107, 25028904, 221.803, 368.99},
    {"pipedream/squeezenet1_0.json", 256, 67, 26, 1248424, 113.247, 172.119},
    // 205 arrays, 257.991328 MB, and 96 arrays, 95.200544 MB, as tools/bandwidth prints.
    {"mxnet/resnet-200-weights.json", 32, 204, 204, 64497832, 0, 0},
    {"mxnet/inception-v3-weights.json", 32, 95, 95, 23800136, 0, 0},
    {"pipedream/vgg16.json", 128, 40, 16, 138357544, 233.902, 438.633},
};

TEST(Traces, HoldWhatTheirSourcesHold) {
  for (const Shipped& s : kShipped) {
    SCOPED_TRACE(s.file);
    const Trace trace = read_trace(data_dir() / "traces" / s.file);
    EXPECT_EQ(trace.batch, s.batch);
    EXPECT_EQ(trace.layers.size(), s.layers);
    EXPECT_EQ(std::count_if(trace.layers.begin(), trace.layers.end(),
                            [](const Layer& layer) { return !layer.tensors.empty(); }),
              s.learnable);
    EXPECT_EQ(trace.params(), s.params);
    EXPECT_NEAR(to_seconds(trace.forward()) * 1e3, s.forward_ms, 1e-9);
    EXPECT_NEAR(to_seconds(trace.backward()) * 1e3, s.backward_ms, 1e-9);
  }
}

TEST(Traces, AllAreValidAndSurviveARoundTrip) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir() / "traces")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path());
    const std::string text = write_trace(read_trace(entry.path()));
    EXPECT_EQ(write_trace(parse_trace(text, "written")), text);
  }
}

/// The log's counts are the real ones rounded up to 64, blob by blob; nothing else differs.
TEST(Traces, PaddedGooglenetDiffersInItsCountsOnly) {
  Trace real = read_trace(data_dir() / "traces/k80/googlenet.json");
  const Trace padded =
      read_trace(std::string(STEPTIME_SOURCE_DIR) + "/tests/data/googlenet_k80_padded.json");
  EXPECT_EQ(padded.params(), 13379136);
  for (Layer& layer : real.layers) {
    for (Tensor& tensor : layer.tensors)
      tensor.params = (tensor.params + 63) / 64 * 64;
  }
  real.provenance = padded.provenance;
  EXPECT_EQ(write_trace(real), write_trace(padded));
}

}  // namespace
}  // namespace steptime
