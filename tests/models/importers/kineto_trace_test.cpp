// Is the trace the mean of steps and ranks, and is what it lacks said?
#include "models/importers/kineto_trace.h"

#include "sim/core/error.h"
#include "tests/models/importers/import_text.h"
#include "tests/models/importers/kineto_text.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using namespace std::chrono_literals;

KinetoProfile profile(const std::string& text, const std::string& file = "x.json") {
  return profile_of(read_kineto_records([&] { return std::make_unique<ByteStream>(file, text); }));
}

Imported imported(const std::vector<std::string>& texts, bool whole = false) {
  std::vector<KinetoProfile> ranks;
  for (std::size_t i = 0; i < texts.size(); ++i)
    ranks.push_back(profile(texts[i], fmt::format("rank{}.json", i)));
  return trace_of(request_of(""), ranks, whole);
}

std::string error(const std::vector<std::string>& texts) {
  return message_of<InputError>([&] { imported(texts); });
}

/// A collective on the device from `start` to `end` in a step of 1000 us.
std::string with_collective(int rank, int start, int end) {
  KinetoText t = two_layers();
  t.op("nccl:all_reduce", 400, 20, 2, R"("Input Dims":[[10]],"Input type":["float"])",
       "user_annotation");
  t.kernel(405, 2, start, end - start, "ncclKernel_AllReduce_RING");
  return t.text(fmt::format(R"("distributedInfo":{{"rank":{},"world_size":2}},)", rank));
}

TEST(KinetoTrace, LayersHaveTimesAndTensorsInForwardOrder) {
  const Trace trace = *imported({two_layers().text()}).trace;
  ASSERT_EQ(trace.layers.size(), 3U);
  EXPECT_EQ(trace.layers[0].name, "optimizer");
  EXPECT_EQ(trace.layers[0].forward, 18us);  // 11 and the gap of 7 before it
  EXPECT_EQ(trace.update, 18us);
  EXPECT_EQ(trace.host, 1ms);
  EXPECT_EQ(trace.layers[1].forward, 100us);
  EXPECT_EQ(trace.layers[1].backward, 203us);
  ASSERT_EQ(trace.layers[1].tensors.size(), 2U);
  // The last gradient first: a run sends a layer's tensors from the last to the first.
  EXPECT_EQ(trace.layers[1].tensors[0].name, "0:linear.0 8x4");
  EXPECT_EQ(trace.layers[1].tensors[0].params, 32);
  EXPECT_EQ(trace.layers[1].tensors[1].name, "0:linear.1 8");
  EXPECT_TRUE(trace.layers[2].tensors.empty());
  const Json& step = trace.provenance["measured"]["steps"][0];
  EXPECT_EQ(step["step"], "ProfilerStep#1");
  EXPECT_EQ(step["host_s"], 0.001);
  EXPECT_EQ(step["device_s"], 398e-6);
  EXPECT_EQ(step["copies_s"], 7e-6);
  EXPECT_EQ(step["optimizer_s"], 18e-6);
  EXPECT_EQ(
      trace.domain,
      "imported device times: 0.007 ms a step of copies and other work are left out; the host "
      "took 1.000 ms a step, the device 0.398 ms");
}

TEST(KinetoTrace, TimesAreMeansOverSteps) {
  KinetoText t = two_layers();
  t.step(2, 1000, 1000);
  t.forward("aten::linear", 1020, 20, 8).kernel(1025, 1, 1040, 103);
  t.forward("aten::relu", 1050, 20, 9).kernel(1055, 1, 1150, 30);
  t.backward("ReluBackward0", 1100, 20, 9).kernel(1105, 2, 1190, 40);
  t.backward("LinearBackward0", 1130, 20, 8).kernel(1135, 2, 1240, 200);
  t.accumulate(1160, 10, "8").kernel(1165, 2, 1440, 1);
  t.accumulate(1180, 10, "8,4").kernel(1185, 2, 1441, 2);
  const Trace trace = *imported({t.text()}).trace;
  EXPECT_EQ(trace.update, 9us);                  // (11 + 7 + 0) / 2
  EXPECT_EQ(trace.layers[1].forward, 101500ns);  // (100 + 103) / 2 us
  EXPECT_EQ(trace.layers[1].backward, 208us);    // (203 + 203 + 10, from 1230 to 1240) / 2
  EXPECT_EQ(trace.provenance["measured"]["steps"].size(), 2U);
  EXPECT_EQ(imported({t.text()}).missing.back(),
            "The optimizer ran in 1 of 2 steps: its time is the mean over all of them.");
}

TEST(KinetoTrace, ACollectiveOfAllRanksLastsFromTheLatestStart) {
  const Trace trace = *imported({with_collective(0, 450, 500), with_collective(1, 470, 502)}).trace;
  const Json& c = trace.provenance["measured"]["collectives"][0];
  EXPECT_EQ(c["operation"], "all-reduce");
  EXPECT_EQ(c["bytes"], 40);
  EXPECT_EQ(c["bytes_from"], "trace");
  EXPECT_EQ(c["group"], 2);
  EXPECT_EQ(c["device_s"], 41e-6);    // (50 + 32) / 2 us
  EXPECT_EQ(c["transfer_s"], 32e-6);  // 470 to 502 us
  EXPECT_EQ(c["starts_differ_s"], 20e-6);
  EXPECT_EQ(c["ends_differ_s"], 2e-6);
}

TEST(KinetoTrace, RanksThatDoNotEndTogetherHaveNoCommonClock) {
  const Trace trace = *imported({with_collective(0, 450, 500), with_collective(1, 470, 511)}).trace;
  EXPECT_FALSE(trace.provenance["measured"]["collectives"][0].contains("transfer_s"));
}

TEST(KinetoTrace, OneRankOfSeveralIsSaid) {
  const Imported one = imported({with_collective(0, 450, 500)});
  ASSERT_EQ(one.missing.size(), 1U);
  EXPECT_EQ(one.missing[0],
            "1 of 2 ranks: a collective's time includes waiting for ranks whose traces are not "
            "here.");
  EXPECT_NE(one.trace->provenance["note"].get<std::string>().find(one.missing[0]),
            std::string::npos);
}

TEST(KinetoTrace, WhatHasNoLayersIsRefusedWithTheReason) {
  KinetoText compiled;
  compiled.step(1, 0, 1000);
  compiled.forward("CompiledFunction", 20, 20, 5).kernel(25, 1, 40, 100);
  compiled.backward("autograd::engine::evaluate_function: CompiledFunctionBackward", 130, 20, 5);
  compiled.kernel(135, 2, 210, 200);
  EXPECT_EQ(error({compiled.text()}),
            "rank0.json: no per-layer times: the backward pass is inside CompiledFunctionBackward, "
            "which is one operator; --set layers=whole imports the step as one layer");
  KinetoText shapeless;
  shapeless.step(1, 0, 1000).forward("aten::mm", 20, 20, 5).kernel(25, 1, 40, 100);
  EXPECT_EQ(error({shapeless.text()}),
            "rank0.json: no per-layer times: ProfilerStep#1 has no gradient with a shape "
            "(AccumulateGrad, with the profiler's record_shapes); --set layers=whole imports the "
            "step as one layer");
  KinetoText other = two_layers();
  other.forward("aten::dropout", 80, 5, 7).kernel(81, 1, 300, 1);
  EXPECT_EQ(error({two_layers().text(), other.text()}),
            "rank1.json: no per-layer times: ProfilerStep#1 differs from ProfilerStep#1 of "
            "rank0.json: 3 layers, not 2; --set layers=whole imports the step as one layer");
}

TEST(KinetoTrace, AWholeStepIsOneLayer) {
  const Imported whole = imported({two_layers().text()}, true);
  const Trace& trace = *whole.trace;
  ASSERT_EQ(trace.layers.size(), 2U);
  EXPECT_EQ(trace.layers[0].forward, 18us);  // the optimizer
  EXPECT_EQ(trace.layers[1].forward, 130us);
  EXPECT_EQ(trace.layers[1].backward, 243us);
  EXPECT_EQ(trace.params(), 40);
  EXPECT_TRUE(trace.domain.ends_with("; one layer, so that no gradient is ready before the end"));
}

}  // namespace
}  // namespace steptime
