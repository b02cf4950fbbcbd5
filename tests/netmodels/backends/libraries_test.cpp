#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "tests/support/collectives.h"
#include "tests/support/messages.h"
#include "tests/support/training.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Libraries, BringTheirCollective) {
  const Experiment e =
      training_experiment(R"({"transport": {"type": "mpi", "backend": {"type": "mpi-opt"}}})", 4);
  const auto opt = collective_of(R"({"type": "mpi-opt"})", *e.cluster);
  EXPECT_EQ(e.collective->time({1 << 20}), opt->time({1 << 20}));
  EXPECT_EQ(e.collective->choice({8}), "recursive-doubling");
}

TEST(Libraries, OneThatTheConfigNamesCounts) {
  const Experiment e = training_experiment(
      R"({"aggregation": {"type": "all-reduce",
                          "collective": {"type": "mpi-opt", "pointer_cache": false}},
          "transport": {"type": "mpi-opt"}})",
      4);
  const auto asks = collective_of(R"({"type": "mpi-opt", "pointer_cache": false})", *e.cluster);
  EXPECT_EQ(e.collective->time({8}), asks->time({8}));
}

TEST(Libraries, TheResolvedConfigHasTheCollective) {
  const Json config{{"name", "x"},
                    {"workload", {{"model", "resnet50"}, {"device", "p100"}, {"batch", 32}}},
                    {"cluster", {{"preset", "ri2"}}},
                    {"strategy", {{"transport", {{"type", "horovod-mpi-opt"}}}}}};
  const Json full = resolved(config);
  EXPECT_EQ(full["strategy"]["aggregation"]["collective"]["type"], "mpi-opt");
  EXPECT_EQ(resolved(full), full);
}

TEST(Libraries, NeedSomethingToAddUp) {
  EXPECT_EQ(message_of<InputError>([] {
              training_experiment(R"({"aggregation": {"type": "parameter-server", "servers": 1},
                                      "transport": {"type": "nccl"}})",
                                  4);
            }),
            "x.json: /strategy/transport: its backend makes all-reduces, and each worker is a "
            "client by itself; expected {\"type\": \"device\"} under \"backend\", or clients of "
            "several workers");
}

}  // namespace
}  // namespace steptime
