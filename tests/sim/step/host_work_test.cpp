// Work of a framework between passes: what it lengthens, and what it does not.
#include "sim/step/host_work.h"

#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/tiny_experiment.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using namespace std::chrono_literals;

/// A step of the tiny experiment under priorities, s. Forward and backward pass take 42 ms.
double step_s(const std::string& between_passes, const std::string& a = "0 s") {
  const TinyFolder folder;
  return simulate(read_experiment(load_document(
                      folder.experiment(R"({"strategy": {"schedule": {"type": "priority",
                          "between_passes": ")" +
                                        between_passes + R"("},
                          "aggregation": {"collective": {"a": ")" +
                                        a + R"("}}}})"),
                      {})))
      .step_time_s;
}

/// All-reduces are over within 100 ms after the backward pass, which then hides them all.
TEST(HostWork, AStepIsNeverShorterThanComputeAndItsWork) {
  EXPECT_NEAR(step_s("100 ms"), 0.142, 1e-9);
}

/// With start-ups of 100 ms gradients are what a step waits for, and 1 ms beside them costs
/// nothing.
TEST(HostWork, CostsNothingWhereGradientsTakeLonger) {
  EXPECT_GT(step_s("0 s", "100 ms"), 0.2);
  EXPECT_EQ(step_s("1 ms", "100 ms"), step_s("0 s", "100 ms"));
}

TEST(HostWork, GradientsAreThereBeforeIt) {
  Workload alone;
  alone.trace.layers = {{.name = "a", .forward = 1ms, .backward = 2ms, .tensors = {{"w", 5}}}};
  const Workload workload = with_host_work(alone, 7ms);
  ASSERT_EQ(workload.trace.layers.size(), 2U);
  EXPECT_EQ(workload.trace.backward(), 9ms);
  EXPECT_EQ(workload.trace.forward(), 1ms);
  EXPECT_EQ(workload.units(Granularity::kTensor).front().ready,
            alone.units(Granularity::kTensor).front().ready);
}

}  // namespace
}  // namespace steptime
