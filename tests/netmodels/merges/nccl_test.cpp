#include "sim/core/error.h"
#include "sim/mxnet/merge.h"
#include "tests/support/messages.h"
#include "tests/support/presets.h"
#include "tests/support/push_pulls.h"

#include <array>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kKernel = R"({"type": "nccl", "version": "2.3.7"})";

Cluster launched_in(std::int64_t us) {
  Cluster cluster = preset_cluster("p3.16xlarge", 1, 2);
  cluster.gpus->launch = std::chrono::microseconds(us);
  return cluster;
}

TEST(NcclMerge, LaunchesUnderAMutexAndWaitsForItsStream) {
  // Over two GPUs an all-reduce has the bus bandwidth of a reduction of as many bytes.
  const double kernel = us(kKernel, launched_in(0), 16'000'000);
  // Pushed at 47, launched on both GPUs until 67; the broadcast is launched when the stream is
  // done.
  EXPECT_NEAR(us(push_pulls("nccl"), launched_in(10), 16'000'000), 67 + kernel + 20 + kernel, 1e-3);
  // Two calls of one key each: kernels follow one another on the stream. Everything of call 1 is
  // pushed at 200, and its reduction lies behind that of call 0; the launch of one lies under the
  // kernel of the other.
  const double half = us(kKernel, launched_in(0), 8'000'000);
  ASSERT_GT(half, 200);
  EXPECT_NEAR(
      us(push_pulls("nccl", R"(, "keys_per_call": 1, "keys": 2)"), launched_in(10), 16'000'000),
      67 + 4 * half, 1e-3);
}

TEST(NcclMerge, KeysOfACallAreOneKernel) {
  const double all = us(kKernel, launched_in(0), 16'000'000);
  EXPECT_NEAR(us(push_pulls("nccl", R"(, "keys": 16)"), launched_in(10), 16'000'000),
              67 + all + 20 + all, 1e-3);
}

TEST(NcclMerge, SaysThatItIsATime) {
  const auto merge = Merges::instance().make_default("nccl", preset_cluster("p3.16xlarge"));
  const std::array<std::int64_t, 1> key{4'000'000};
  EXPECT_EQ(merge->outside_domain(key),
            "NCCL's kernels are known by their time, whatever else is on the links");
}

TEST(NcclMerge, NeedsToKnowTheGpus) {
  EXPECT_EQ(message_of<InputError>([] { collective_of(push_pulls("nccl"), pair_of_gpus()); }),
            "x.json: /collective/merge/type: nccl needs the cluster's gpus");
}

}  // namespace
}  // namespace steptime
