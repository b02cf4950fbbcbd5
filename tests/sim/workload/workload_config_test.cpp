// Reading of the "workload" section.
#include "sim/config/data_dir.h"
#include "sim/config/registry.h"
#include "sim/core/error.h"
#include "sim/workload/model_work.h"
#include "sim/workload/workload.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};

/// A layer table in memory: one layer, forward batch x 1 ms, backward batch x value_bytes ms.
class FakeDevice final : public DeviceModel {
 public:
  Trace trace(const Config& request, std::int64_t bytes_per_value) const override {
    const auto model = request.get<std::string>("model");
    const auto device = request.get<std::string>("device");
    const auto batch = request.get<std::int64_t>("batch");
    if (model != "fake") request.fail("model", "unknown \"" + model + "\"");
    Trace trace{.model = model, .device = device, .batch = batch};
    trace.layers.push_back({.name = "l",
                            .forward = batch * kMs,
                            .backward = batch * bytes_per_value * kMs,
                            .tensors = {{"l", 100}}});
    return trace;
  }
};
const bool kRegistered = Registry<DeviceModel>::instance().add(
    "fake", "a device for tests", {}, [](const Config&) { return std::make_unique<FakeDevice>(); });

constexpr const char* kTrace =
    R"({"format": "steptime-trace", "version": 1, "model": "m", "device": "d", "batch": 32,
        "provenance": {"source": "s", "date": "2018", "licence": "l"},
        "layers": [{"name": "a", "forward_s": 0.002, "backward_s": 0.006, "params": 10}]})";

class WorkloadConfig : public testing::Test {
 protected:
  /// The section {"trace": <file>, ...more}.
  Workload read(const std::string& more) const {
    return read_workload(
        config_of(R"({"trace": ")" + file_.path() + "\"" + more + "}", workload_params()));
  }
  std::string error(const std::string& more) const {
    return message_of<InputError>([&] { read(more); });
  }

  ScratchFile file_{"trace.json", kTrace};
};

Workload read_model(const std::string& section) {
  return read_workload(config_of(section, workload_params()));
}
std::string model_error(const std::string& section) {
  return message_of<InputError>([&] { read_model(section); });
}

TEST_F(WorkloadConfig, ATraceGivesEverything) {
  const Workload w = read("");
  EXPECT_EQ(w.trace.batch, 32);
  EXPECT_EQ(w.trace.forward(), 2 * kMs);
  EXPECT_EQ(w.trace.backward(), 6 * kMs);
  EXPECT_EQ(w.trace.domain, "inside");
  EXPECT_EQ(w.bytes_per_param, 4);
  EXPECT_FALSE(w.dataset_samples.has_value());
  EXPECT_EQ(read(R"(, "dataset_samples": 1281167)").dataset_samples, 1281167);
}

TEST_F(WorkloadConfig, TheTypeOfTheGradientsSetsTheirSize) {
  EXPECT_EQ(read(R"(, "dtype": "float16")").bytes_per_param, 2);
  EXPECT_EQ(read(R"(, "dtype": "bfloat16")").bytes_per_param, 2);
  EXPECT_EQ(read(R"(, "dtype": "float32")").bytes_per_param, 4);
  EXPECT_EQ(read(R"(, "dtype": "float64")").bytes_per_param, 8);
  EXPECT_EQ(error(R"(, "dtype": "int8")"),
            "x.json: /dtype: unknown \"int8\"; known: float32, float16, bfloat16, float64");
}

TEST_F(WorkloadConfig, AnotherBatchScalesTheComputeTimesAndSaysSo) {
  // 48 / 32 = 1.5: 3 ms and 9 ms.
  const Workload w = read(R"(, "batch": 48)");
  EXPECT_EQ(w.trace.batch, 48);
  EXPECT_EQ(w.trace.forward(), 3 * kMs);
  EXPECT_EQ(w.trace.backward(), 9 * kMs);
  EXPECT_EQ(w.trace.domain, "compute times scaled from batch 32 to 48");
  EXPECT_EQ(read(R"(, "batch": 32)").trace.domain, "inside");
}

// Of 2 ms of forward pass 1 is the optimizer's, which stays: 1.5 x 1 + 1.
TEST_F(WorkloadConfig, AnotherBatchLeavesTheOptimizerAsItIs) {
  const ScratchFile with_update("update.json",
                                std::string(R"({"update_s": 0.001, )") + (kTrace + 1));
  const Workload w = read_workload(
      config_of(R"({"trace": ")" + with_update.path() + R"(", "batch": 48})", workload_params()));
  EXPECT_EQ(w.trace.forward(), 2500 * kMs / 1000);
  EXPECT_EQ(w.trace.backward(), 9 * kMs);
  EXPECT_EQ(w.trace.update, kMs);
}

TEST_F(WorkloadConfig, AnotherBatchOfATraceWithoutComputeTimesIsNotScaled) {
  const ScratchFile zero("zero.json",
                         R"({"format": "steptime-trace", "version": 1, "model": "m", "device": "d",
          "batch": 32, "provenance": {"source": "s", "date": "2018", "licence": "l"},
          "layers": [{"name": "a", "forward_s": 0, "backward_s": 0, "params": 10}]})");
  const Workload w = read_model(R"({"trace": ")" + zero.path() + R"(", "batch": 64})");
  EXPECT_EQ(w.trace.batch, 64);
  EXPECT_EQ(w.trace.forward() + w.trace.backward(), Duration{});
}

TEST_F(WorkloadConfig, ABatchBeyondSimulatedTimeIsAnErrorAtItsPlace) {
  // 8 ms x 1e9 / 32 = 250000 s is fine; from a batch of 1 it would be 8e6 s in one step.
  EXPECT_NO_THROW(read(R"(, "batch": 1000000000)"));
  const ScratchFile one(
      "one.json",
      R"({"format": "steptime-trace", "version": 1, "model": "m", "device": "d", "batch": 1,
          "provenance": {"source": "s", "date": "2018", "licence": "l"},
          "layers": [{"name": "a", "forward_s": 10, "backward_s": 10, "params": 10}]})");
  EXPECT_EQ(message_of<InputError>([&] {
              read_model(R"({"trace": ")" + one.path() + R"(", "batch": 1000000000})");
            }).substr(0, 15),
            "x.json: /batch:");
}

TEST_F(WorkloadConfig, ComputeTimeScalesBothPasses) {
  // 2 + 6 = 8 ms to 4 ms: 1 and 3.
  const Workload w = read(R"(, "compute_time": "4 ms")");
  EXPECT_EQ(w.trace.forward(), 1 * kMs);
  EXPECT_EQ(w.trace.backward(), 3 * kMs);
  EXPECT_EQ(error(R"(, "compute_time": "0 s")"),
            "x.json: /compute_time: must be positive, got \"0 s\"");
}

TEST_F(WorkloadConfig, ComputeTimeMayLeaveTheBackwardPassAlone) {
  // What is left of 10 ms beside the 6 ms of the backward pass.
  const Workload w = read(R"(, "compute_time": "10 ms", "rescale": "forward")");
  EXPECT_EQ(w.trace.forward(), 4 * kMs);
  EXPECT_EQ(w.trace.backward(), 6 * kMs);
  EXPECT_EQ(read(R"(, "compute_time": "6 ms", "rescale": "forward")").trace.forward(), Duration{});
  EXPECT_EQ(error(R"(, "compute_time": "5 ms", "rescale": "forward")"),
            "x.json: /compute_time: \"5 ms\" is less than the backward pass, 6 ms");
}

TEST_F(WorkloadConfig, TheForwardPassMayHaveAKnownShare) {
  const Workload w = read(R"(, "compute_time": "10 ms", "forward_share": 0.3)");
  EXPECT_EQ(w.trace.forward(), 3 * kMs);
  EXPECT_EQ(w.trace.backward(), 7 * kMs);
  EXPECT_EQ(error(R"(, "forward_share": 0.3)"),
            "x.json: /forward_share: expected \"compute_time\" beside it");
  EXPECT_EQ(error(R"(, "compute_time": "10 ms", "rescale": "forward", "forward_share": 0.3)"),
            "x.json: /forward_share: unexpected, as \"rescale\" keeps the backward pass");
}

TEST_F(WorkloadConfig, ATraceLeavesNoChoiceOfDevice) {
  EXPECT_EQ(error(R"(, "device": "v100")"),
            "x.json: /device: unexpected, as \"trace\" gives the times");
  EXPECT_EQ(error(R"(, "device_model": {"type": "fake"})"),
            "x.json: /device_model: unexpected, as \"trace\" gives the times");
  EXPECT_EQ(error(R"(, "model": "fake")"),
            "x.json: /: expected either \"trace\" or \"model\" with \"device\"");
}

TEST(WorkloadConfigModel, ALayerTableNeedsDeviceAndBatch) {
  EXPECT_EQ(model_error("{}"), "x.json: /: expected either \"trace\" or \"model\" with \"device\"");
  EXPECT_EQ(model_error(R"({"model": "fake", "batch": 2})"),
            "x.json: /device: required but missing, as there is no \"trace\"");
  EXPECT_EQ(model_error(R"({"model": "fake", "device": "d"})"),
            "x.json: /batch: required but missing, as there is no \"trace\"");
  EXPECT_EQ(model_error(R"({"model": "fake", "device": "d", "batch": 0,
                            "device_model": {"type": "fake"}})"),
            "x.json: /batch: must be at least 1 and at most 1000000000, got 0");
}

TEST(WorkloadConfigModel, TheDeviceModelGetsTheSizeOfAValue) {
  // The fake's backward pass: batch 2 x 2 bytes = 4 ms.
  const Workload w = read_model(R"({"model": "fake", "device": "d", "batch": 2, "dtype": "float16",
                                    "device_model": {"type": "fake"}})");
  EXPECT_EQ(w.trace.forward(), 2 * kMs);
  EXPECT_EQ(w.trace.backward(), 4 * kMs);
  EXPECT_EQ(w.trace.device, "d");
  EXPECT_EQ(w.bytes_per_param, 2);
  EXPECT_EQ(model_error(R"({"model": "other", "device": "d", "batch": 2,
                            "device_model": {"type": "fake"}})"),
            "x.json: /model: unknown \"other\"");
}

TEST(ShippedTrace, IsReadByTheNameThatListShows) {
  const auto traces = data_dir() / "traces";
  const Workload named = read_model(R"({"trace": "k80/googlenet"})");
  const Workload file =
      read_model(R"({"trace": ")" + (traces / "k80" / "googlenet.json").string() + "\"}");
  EXPECT_EQ(write_trace(named.trace), write_trace(file.trace));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(traces)) {
    if (entry.path().extension() != ".json") continue;
    const auto name = entry.path().lexically_relative(traces).replace_extension().generic_string();
    EXPECT_FALSE(read_model(R"({"trace": ")" + name + "\"}").trace.layers.empty()) << name;
  }
}

TEST(ShippedTrace, AFileOfThatNameComesFirst) {
  const ScratchFile file("googlenet", kTrace);
  EXPECT_EQ(read_model(R"({"trace": ")" + file.path() + "\"}").trace.model, "m");
}

TEST_F(WorkloadConfig, WhatNothingReadsIsRefused) {
  EXPECT_EQ(error(R"(, "rescale": "forward")"),
            "x.json: /rescale: expected \"compute_time\" beside it");
  EXPECT_EQ(error(R"(, "rescale": "zz")"),
            "x.json: /rescale: unknown \"zz\"; known: both, forward");
  EXPECT_EQ(read(R"(, "rescale": "both")").trace.forward(), 2 * kMs);
  EXPECT_EQ(error(R"(, "kernels": "eager")"),
            "x.json: /kernels: unexpected, as \"trace\" gives the times");
  const auto shape = [](const std::string& more) {
    return message_of<InputError>([&] {
      read_micro_batch(
          config_of(R"({"model": "gpt-1.7b", "device": "v100", "batch": 1, )" + more + "}",
                    workload_params()));
    });
  };
  EXPECT_EQ(shape(R"("kernels": "eager")"),
            "x.json: /kernels: unexpected with the shape of a transformer; expected \"operators\"");
  EXPECT_EQ(shape(R"("device_model": -5)"),
            "x.json: /device_model: expected a name or an object {\"type\": ...}, got -5");
  EXPECT_EQ(shape(R"("device_model": "fake")"),
            "x.json: /device_model: found \"fake\", expected {\"type\": \"roofline\"} with a "
            "layout");
}

}  // namespace
}  // namespace steptime
