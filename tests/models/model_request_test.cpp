#include "models/model_request.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(ModelRequest, NamesADeviceAndATraining) {
  const Config request = config_of(
      R"({"device": "h100", "precision": "bfloat16", "dtype": "float32", "optimizer": "adam"})",
      workload_params());
  const Device device = device_of(request);
  EXPECT_EQ(device.name, "h100");
  const Training training = training_of(request, device, 4);
  EXPECT_EQ(training.precision, "bfloat16");
  EXPECT_EQ(training.optimizer.name, "adam");
  EXPECT_TRUE(training.is_mixed());
}

TEST(ModelRequest, RefusesWhatThereIsNot) {
  EXPECT_NE(error_of([] {
              device_of(config_of(R"({"device": "h101"})", workload_params()));
            }).find("x.json: /device: "),
            std::string::npos);
  const Config request =
      config_of(R"({"device": "h100", "precision": "float64"})", workload_params());
  EXPECT_EQ(
      error_of([&] { training_of(request, device_of(request), 4); }),
      "x.json: /precision: device \"h100\" has no rates for float64; known: bfloat16, float32, "
      "tf32");
}

}  // namespace
}  // namespace steptime
