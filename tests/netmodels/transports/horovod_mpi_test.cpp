#include "sim/servers/transport.h"
#include "tests/support/config_text.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(HorovodMpi, HasACoordinator) {
  const auto wfbp = make<Schedule>(R"({"type": "wfbp"})");
  const Cluster cluster = star_cluster(4);
  EXPECT_NE(make<Transport>(R"({"type": "horovod-mpi"})")->policy(*wfbp, {}, cluster), nullptr);
  EXPECT_EQ(make<Transport>(R"({"type": "mpi"})")->policy(*wfbp, {}, cluster), nullptr);
}

}  // namespace
}  // namespace steptime
