#include "sim/core/error.h"
#include "sim/servers/transport.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"
#include "tests/support/training.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Coordinated, HaveACoordinatorAndALibrary) {
  const auto wfbp = make<Schedule>(R"({"type": "wfbp"})");
  const Cluster cluster = star_cluster(4);
  for (const auto& [name, library] : {std::pair{"horovod-mpi", ""},
                                      {"horovod-mvapich2", "mvapich2-gdr"},
                                      {"horovod-mpi-opt", "mpi-opt"},
                                      {"horovod-nccl", "nccl"},
                                      {"baidu", "baidu-ring"}}) {
    const auto made = make<Transport>(std::string(R"({"type": ")") + name + "\"}");
    EXPECT_NE(made->policy(*wfbp, {}, cluster), nullptr) << name;
    EXPECT_EQ(made->backend->library(), library) << name;
  }
  EXPECT_EQ(make<Transport>(R"({"type": "mpi"})")->policy(*wfbp, {}, cluster), nullptr);
}

TEST(Coordinated, ReduceOneAfterAnother) {
  EXPECT_EQ(
      message_of<InputError>(
          [] { training_experiment(R"({"transport": {"type": "baidu", "streams": 2}})", 4); }),
      "x.json: /strategy/transport: its coordinator reduces one after another; expected 1 "
      "under \"streams\", {\"type\": \"none\"} under \"coordinator\", or \"horovod\" there and "
      "\"nccl\" under \"backend\"");
}

}  // namespace
}  // namespace steptime
