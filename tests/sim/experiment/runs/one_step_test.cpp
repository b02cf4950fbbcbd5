#include "sim/experiment/runs/one_step.h"

#include "sim/core/fast_paths.h"
#include "tests/support/simulated.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(OneStep, IsOfWorkersThatAreAlikeAndTakeTurns) {
  const TinyFolder folder;
  EXPECT_TRUE(is_one_step(tiny_experiment(folder)));
  for (const std::string patch :
       {R"({"run": {"variation": {"jitter": 0.1}}})",
        R"({"strategy": {"transport": {"type": "mpi", "streams": 2}}})",
        R"({"strategy": {"update": {"type": "local-sgd", "interval": 2}}})"}) {
    EXPECT_FALSE(is_one_step(tiny_experiment(folder, patch))) << patch;
  }
}

// 42 ms of compute, and the last all-reduce of 2 ms behind it: the worker's program says the same
// as the recurrence, of the step, of its buckets and of the samples that it waits for.
TEST(OneStep, IsItsProgram) {
  const TinyFolder folder;
  for (const std::string patch :
       {"{}", R"({"workload": {"input": 500}})", R"({"strategy": {"schedule": "mg-wfbp"}})",
        R"({"cluster": {"nodes": 1}})"}) {
    const Experiment e = tiny_experiment(folder, patch);
    const Result fast = simulate(e);
    const WithoutFastPaths programs;
    const Result played = simulate(e);
    EXPECT_EQ(played.step_time_s, fast.step_time_s) << patch;
    EXPECT_EQ(played.comm_busy_s, fast.comm_busy_s) << patch;
    EXPECT_EQ(played.exposed_comm_s, fast.exposed_comm_s) << patch;
    EXPECT_EQ(played.exposed_input_s, fast.exposed_input_s) << patch;
    EXPECT_EQ(played.fingerprint, fast.fingerprint) << patch;
  }
}

}  // namespace
}  // namespace steptime
