#include "sim/collective/backend.h"
#include "tests/support/collectives.h"
#include "tests/support/config_text.h"
#include "tests/support/play.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Device, AddsNothing) {
  const auto device = make<Backend>(R"({"type": "device"})");
  const Cluster cluster = star_cluster(4, {1e-9});
  EXPECT_EQ(device->seen(cluster).reduction.seconds_per_byte, 1e-9);
  const std::shared_ptr<const Collective> ring = collective_of(R"({"type": "ring"})", cluster);
  EXPECT_EQ(device->all_reduce(ring, cluster), ring);
}

}  // namespace
}  // namespace steptime
