// Are the records those that decide where a kernel belongs, and does a trace of any size fit?
#include "models/importers/kineto_records.h"

#include "sim/core/error.h"
#include "tests/models/importers/kineto_text.h"
#include "tests/support/messages.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

KinetoRecords records(const std::string& text, std::size_t most = kMostRecords) {
  return read_kineto_records([&] { return std::make_unique<ByteStream>("x.json", text); }, most);
}

/// Steps of 100 us with three records each: an operator, a launch and a kernel.
std::string steps(int count) {
  KinetoText t;
  for (int i = 0; i < count; ++i) {
    t.step(i, 100 * i, 100);
    t.forward("aten::mm", 100 * i + 10, 10, i).kernel(100 * i + 11, 1, 100 * i + 20, 30);
  }
  return t.text();
}

TEST(KinetoRecords, KeepWhatDecides) {
  KinetoText t = two_layers();
  t.op("aten::empty", 21, 2);  // no sequence number: nothing is assigned by it
  const KinetoRecords r = records(t.text());
  EXPECT_EQ(r.steps.size(), 1U);
  EXPECT_EQ(r.spans.size(), 9U);  // to, linear, relu, two nodes, two gradients, optimizer, add_
  EXPECT_EQ(r.launches.size(), 8U);
  EXPECT_EQ(r.activities.size(), 8U);
  EXPECT_EQ(r.activities[0].kind, Activity::Kind::kHostCopy);
  EXPECT_EQ(r.spans[6].kind, HostSpan::Kind::kAccumulate);
  EXPECT_EQ(r.names.text(r.spans[6].shape), "8x4");
}

TEST(KinetoRecords, OfALongTraceTheLastStepsAreKept) {
  // 60 records in 20 steps; of 30 records at most, 27 are planned: at 4 a step, 6 steps.
  const KinetoRecords r = records(steps(20), 30);
  EXPECT_EQ(r.steps_left_out, 14U);
  ASSERT_EQ(r.steps.size(), 6U);
  EXPECT_EQ(r.steps[0].name, "ProfilerStep#14");
  EXPECT_EQ(r.size(), 18U);
  EXPECT_EQ(records(steps(20), 60).steps_left_out, 0U);
}

TEST(KinetoRecords, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(message_of<InputError>([] { records(steps(20), 3); }),
            "x.json: a step of some 4 events to keep, expected at most 0");
  KinetoText t;
  for (int i = 0; i < 10; ++i)
    t.forward("aten::mm", i, 1, i);
  EXPECT_EQ(
      message_of<InputError>([&] { records(t.text(), 9); }),
      "x.json: 10 events to keep without a ProfilerStep mark between them, expected at most 9");
}

TEST(KinetoRecords, AbsurdSizesAreRefused) {
  KinetoText t;
  t.accumulate(1, 1, "4294967296,4294967296");
  EXPECT_EQ(message_of<InputError>([&] { records(t.text()); }),
            "x.json: a tensor of 4294967296 x 4294967296: expected at most 2^50 elements");
}

TEST(KinetoRecords, CollectivesHaveTheNamesOfConfigs) {
  EXPECT_EQ(collective_name("nccl:all_reduce"), "all-reduce");
  EXPECT_EQ(collective_name("nccl:_reduce_scatter_base"), "reduce-scatter");
  EXPECT_EQ(collective_name("_allgather_base"), "all-gather");
  EXPECT_EQ(collective_name("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"),
            "all-reduce");
  EXPECT_EQ(collective_name("ncclKernel_Broadcast_RING_LL_Sum_int8_t"), "broadcast");
  EXPECT_EQ(collective_name("nccl:all_to_all"), "all-to-all");
  EXPECT_EQ(collective_name("nccl:reduce"), "reduce");
}

TEST(KinetoRecords, TypesHaveTheirSize) {
  EXPECT_EQ(element_bytes("float"), 4);
  EXPECT_EQ(element_bytes("c10::Half"), 2);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("Scalar"), 0);
}

}  // namespace
}  // namespace steptime
