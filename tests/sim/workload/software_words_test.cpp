// Is the software of a workload the one that its section says, or that is meant without a word?
#include "sim/workload/software_words.h"

#include "sim/core/error.h"
#include "sim/workload/workload.h"
#include "tests/support/messages.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Config section(const std::string& text) {
  return Config(std::make_shared<Document>(Document{"w.json", Json::parse(text)}),
                workload_params());
}

TEST(SoftwareWords, FrameworksByKeyOrTable) {
  EXPECT_EQ(framework_word(section("{}"), "torch/resnet50"), "PyTorch 2");
  EXPECT_EQ(framework_word(section(R"({"framework": "pytorch-1"})"), "torch/resnet50"),
            "PyTorch 1");
  EXPECT_EQ(framework_word(section("{}"), "tf/vgg16"), "TensorFlow 1");
  EXPECT_EQ(framework_word(section("{}"), "inception-v3"), "");
}

TEST(SoftwareWords, HalfPrecisionOfPyTorchIsAutocast) {
  const auto word = [](const char* text) { return kernels_word(section(text), "torch/resnet50"); };
  EXPECT_EQ(word("{}"), "eager");
  EXPECT_EQ(word(R"({"precision": "bfloat16"})"), "autocast");
  EXPECT_EQ(word(R"({"dtype": "float16"})"), "autocast");
  EXPECT_EQ(word(R"({"precision": "float16", "kernels": "tuned"})"), "tuned");
  EXPECT_EQ(word(R"({"precision": "float16", "framework": "mxnet"})"), "tuned");
}

TEST(SoftwareWords, AShapesOperatorsSayIt) {
  EXPECT_EQ(kernels_word(section(R"({"operators": "eager"})"), "llama2-7b"), "eager");
  EXPECT_EQ(kernels_word(section("{}"), "llama2-7b"), "tuned");
}

TEST(SoftwareWords, KernelsAreOfThreeKinds) {
  EXPECT_EQ(
      message_of<InputError>(
          [] { kernels_word(section(R"({"kernels": "tunned"})"), "torch/resnet50"); }),
      "w.json: /kernels: unknown \"tunned\" (did you mean \"tuned\"?); known: tuned, fused, eager, "
      "autocast");
}

}  // namespace
}  // namespace steptime
