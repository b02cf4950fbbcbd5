#include "sim/workload/model_work.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ModelWork, OfATraceHasItsTimesAndTensors) {
  Workload workload{.trace = {.model = "m", .device = "d", .batch = 4}, .bytes_per_param = 2};
  workload.trace.layers.push_back(
      {.name = "a", .forward = Duration(3), .backward = Duration(5), .tensors = {{"w", 7}}});
  const ModelWork work = work_of(workload);
  ASSERT_EQ(work.layers.size(), 1);
  EXPECT_EQ(work.layers[0].forward.count(), 3);
  EXPECT_EQ(work.layers[0].input_gradient.count(), 5);
  EXPECT_EQ(work.layers[0].params(), 7);
  EXPECT_EQ(work.parameter.gradient, 2);
  EXPECT_EQ(work.samples, 4);
  EXPECT_EQ(work.blocks(), 1);
}

// Where only the sum of the forward pass is known, it comes before all layers.
TEST(ModelWork, OfATraceWithAForwardTotal) {
  Workload workload{.trace = {.model = "m", .device = "d", .batch = 1}};
  workload.trace.forward_total = Duration(9);
  workload.trace.layers.push_back({.name = "a", .backward = Duration(5)});
  const ModelWork work = work_of(workload);
  ASSERT_EQ(work.layers.size(), 2);
  EXPECT_EQ(work.layers[0].forward.count(), 9);
  EXPECT_FALSE(work.layers[0].is_block);
  EXPECT_EQ(work.layers[1].forward.count(), 0);
}

std::string error_of(const char* json, std::int64_t samples, std::int64_t replicas) {
  try {
    micro_batches_of(config_of(json, workload_params()), samples, replicas);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

// 256 samples on 8 replicas of 2: 16 micro-batches each.
TEST(MicroBatches, FollowFromTheGlobalBatch) {
  EXPECT_EQ(micro_batches_of(config_of(R"({"global_batch": 256})", workload_params()), 2, 8), 16);
  EXPECT_EQ(micro_batches_of(config_of(R"({"accumulate": 3})", workload_params()), 2, 8), 3);
  EXPECT_EQ(error_of(R"({"global_batch": 256, "accumulate": 16})", 2, 8), "");
  EXPECT_EQ(error_of(R"({"global_batch": 256, "accumulate": 8})", 2, 8),
            "x.json: /accumulate: found 8, expected 16, which \"global_batch\" says");
  EXPECT_EQ(
      error_of(R"({"global_batch": 250})", 2, 8),
      "x.json: /global_batch: found 250, expected a multiple of 16, which is 8 replicas with 2 "
      "samples each");
}

}  // namespace
}  // namespace steptime
