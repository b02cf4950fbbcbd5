#include "sim/experiment/runs/training_programs.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(TrainingPrograms, KernelsSlowNoKvstoreDown) {
  const TinyFolder folder;
  const std::string error = message_of<InputError>([&] {
    tiny_experiment(folder, R"({
        "cluster": {"nodes": 2, "gpus_per_node": 2, "intra_node_beside_kernels": 2, "intra_node":
            {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
        "strategy": {"aggregation": {"type": "kvstore", "servers": 2, "collective": null}}})");
  });
  EXPECT_EQ(
      error.substr(error.find("/cluster")),
      "/cluster/intra_node_beside_kernels: what a kvstore adds up on a node is not slowed down "
      "by kernels; expected 1");
}

}  // namespace
}  // namespace steptime
