// Times of an otherwise idle process, in us: a call takes 45, a push of an operation 2, and each
// operation on a GPU 15 besides its bytes.
#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/messages.h"
#include "tests/support/presets.h"
#include "tests/support/scratch_file.h"

#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string push_pulls(const std::string& merge, const std::string& more = "") {
  return R"({"type": "push-pulls", "merge": ")" + merge + "\"" + more + "}";
}

/// Two GPUs; 1 MB takes 1 us + 1000 us between them.
Cluster pair(double reduction = 0) {
  Cluster cluster{.nodes = 1, .gpus_per_node = 2};
  cluster.intra_node = {std::chrono::microseconds(1), {1e9}};
  cluster.network = cluster.intra_node;
  cluster.reduction = {reduction};
  return cluster;
}

double us(const std::string& json, const Cluster& cluster, std::int64_t bytes) {
  return to_seconds(collective_of(json, cluster)->time({bytes})) * 1e6;
}

TEST(PushPulls, DeviceCopiesAddsUpAndCopiesBack) {
  // The copy 1 -> 0 is pushed at 49 and ends at 49 + 15 + 1001 = 1065, the sum at 1080. The pull's
  // second copy begins then: 1080 + 15 + 1001.
  EXPECT_NEAR(us(push_pulls("device"), pair(), 1'000'000), 2096, 1e-6);
  // 0.3 ns/B for three accesses: the sum of two reads and writes for 300 us.
  EXPECT_NEAR(us(push_pulls("device"), pair(0.3e-9), 1'000'000), 2096 + 300, 1e-6);
}

TEST(PushPulls, KeysAreMergedOnOneGpuAfterTheOther) {
  // The copy of key 1 from GPU 0 to 1 is pushed at 147 and would arrive at 1163. At 1095, after its
  // copy to itself, GPU 0's other copy thread takes the pull of key 0, which shares the link from
  // 1110 on: 52 us more, until 1215. The sum ends at 1230, and the pull takes 15 + 1001.
  EXPECT_NEAR(us(push_pulls("device", R"(, "keys": 2)"), pair(), 2'000'000), 2246, 1e-6);
}

TEST(PushPulls, ATreeHasCopiesOfAGpuToItselfBeforeAndAtItsRoot) {
  // GPU 1's copy to itself is pushed at 49 and ends at 64, its copy up at 1080, the sum at 1095,
  // the root's copy to itself at 1110, and the copy down takes 15 + 1001.
  EXPECT_NEAR(us(push_pulls("tree"), pair(), 1'000'000), 2126, 1e-6);
  // Each copy to itself reads and writes for 200 us, the sum takes 300.
  EXPECT_NEAR(us(push_pulls("tree"), pair(0.3e-9), 1'000'000), 2126 + 2 * 200 + 300, 1e-6);
}

TEST(PushPulls, SlicesOfATreeEndInOneArray) {
  // Half of the array goes up each of two trees. The operations of the trees of GPU 0 and of GPU 1
  // are pushed at 47 to 53 and 55 to 61: copies to itself until 64 and 70, up until 580 and 586,
  // sums until 595 and 601, down until 1111 and 1117. GPU 1 copies slice 0 into the result until
  // 1126, and then slice 1, which is a write of the same array: 1141.
  EXPECT_NEAR(us(push_pulls("tree", R"(, "array_bound": "0 B")"), pair(), 1'000'000), 1141, 1e-6);
}

TEST(PushPulls, NcclLaunchesUnderAMutexAndWaitsForItsStream) {
  const Cluster cluster = preset_cluster("p3.16xlarge", 1, 2);
  Cluster launched = cluster;
  launched.gpus->launch = {};
  // Over two GPUs an all-reduce has the bus bandwidth of a reduction of as many bytes.
  const double kernel = us(R"({"type": "nccl", "version": "2.3.7"})", launched, 16'000'000);
  // Pushed at 47, launched on both GPUs until 67; the broadcast is launched when the stream is
  // done.
  EXPECT_NEAR(us(push_pulls("nccl", R"(, "launch": "10 us")"), cluster, 16'000'000),
              67 + kernel + 20 + kernel, 1e-3);
  // Two calls of one key each: kernels follow one another on the stream. Everything of call 1 is
  // pushed at 200, and its reduction lies behind that of call 0; the launch of one lies under the
  // kernel of the other.
  const double half = us(R"({"type": "nccl", "version": "2.3.7"})", launched, 8'000'000);
  ASSERT_GT(half, 200);
  EXPECT_NEAR(us(push_pulls("nccl", R"(, "launch": "10 us", "keys": 2, "keys_per_call": 1)"),
                 cluster, 16'000'000),
              67 + 4 * half, 1e-3);
}

/// So many bytes as keys of these sizes, in any unit.
double us_of_tensors(const std::string& sizes, std::int64_t bytes) {
  Json tensors = Json::array();
  for (const Json& size : Json::parse(sizes))
    tensors.push_back({{"params", size}});
  const Json table{{"layers", {{{"name", "without"}}, {{"tensors", tensors}}}}};
  const ScratchFile file("model.json", table.dump());
  return us(push_pulls("device", R"(, "model": ")" + file.path() + "\""), pair(), bytes);
}

TEST(PushPulls, KeysMayBeTheTensorsOfAModel) {
  // As two equal keys; and a single one.
  EXPECT_NEAR(us_of_tensors("[7, 7]", 2'000'000), 2246, 1e-6);
  EXPECT_NEAR(us_of_tensors("[7]", 1'000'000), 2096, 1e-6);
}

TEST(PushPulls, OneKeyOfDeviceOnAP3WaitsForTheSocketsLink) {
  // Three of four GPUs of the other socket have no NVLink to GPU 0, which adds up: 3 M in and 3 M
  // out over 10 GB/s, between them the sum, and two threads copy to GPUs 1 to 4, over one NVLink
  // and then two, before they come to the others. That is VGG-16's largest key.
  const double bytes = 411'041'792;
  const double seconds =
      6 * bytes / 10e9 + 9 * bytes * 0.00333e-9 / 3 + bytes / 23.94e9 + bytes / 47.88e9;
  EXPECT_NEAR(us(push_pulls("device"), preset_cluster("p3.16xlarge"), 411'041'792), seconds * 1e6,
              seconds * 1e6 * 0.005);
}

TEST(PushPulls, TimeDoesNotFallAtTheBound) {
  const auto tree = collective_of(push_pulls("tree"), preset_cluster("p3.16xlarge"));
  EXPECT_EQ(tree->time({40'000'003}), tree->time({40'000'004}));
  EXPECT_GT(tree->time({400'000'000}), tree->time({40'000'004}));
  EXPECT_EQ(tree->startup(), tree->time({0}));
}

TEST(PushPulls, RefusesWhatKvstoreHasNot) {
  const auto error = [](const std::string& merge, const Cluster& cluster) {
    return message_of<InputError>([&] { collective_of(push_pulls(merge), cluster); });
  };
  EXPECT_EQ(error("device", preset_cluster("p3.16xlarge", 1, 1)),
            "x.json: /collective/merge: is of the GPUs of one node, two at least, got 1 of 1");
  EXPECT_EQ(error("tree", preset_cluster("p3.16xlarge", 2, 8)),
            "x.json: /collective/merge: is of the GPUs of one node, two at least, got 2 of 8");
  const ScratchFile empty("model.json", "{}");
  EXPECT_EQ(message_of<InputError>([&] {
              collective_of(push_pulls("device", R"(, "model": ")" + empty.path() + "\""), pair());
            }),
            "x.json: /collective/model: expected a layer table with tensors");
  EXPECT_EQ(error("nccl", pair()), "x.json: /collective/merge: nccl needs the cluster's gpus");
}

}  // namespace
}  // namespace steptime
