#include "sim/layouts/node_sharing.h"

#include "tests/support/layouts.h"
#include "tests/support/presets.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

double slowed_by(const char* preset, std::int64_t nodes, std::int64_t gpus, Coordinates degrees) {
  const TestLayout test{
      .degrees = degrees,
      .cluster = std::make_shared<const Cluster>(preset_cluster(preset, nodes, gpus))};
  return slowed_inside_nodes(plan_of(test, work_of_blocks(2, {1, 1, 1})));
}

// Four GPUs at each of two sockets, 12 GB/s to a GPU and 10 between the sockets. Two places of a
// pipeline, GPUs 0 to 3 and 4 to 7: four messages go from socket to socket, 4 / 10 s/GB, and one
// alone takes 1 / 10. With a single replica there is one.
TEST(NodeSharing, CountsTheMessagesOfAllGroupsOnALink) {
  EXPECT_NEAR(slowed_by("pcie-8", 1, 8, {1, 1, 4, 2}), 4, 1e-6);
  EXPECT_NEAR(slowed_by("pcie-8", 1, 2, {1, 1, 1, 2}), 1, 1e-6);
}

// One group of all GPUs has the links to itself. Over an NVSwitch every GPU has links of its own.
TEST(NodeSharing, GroupsThatShareNoLinkAreNotSlowed) {
  EXPECT_DOUBLE_EQ(slowed_by("pcie-8", 1, 8, {8, 1, 1, 1}), 1);
  EXPECT_NEAR(slowed_by("dgx-a100", 2, 8, {2, 2, 2, 2}), 1, 1e-6);  // sends are whole ps
}

// Neighbours of a ring of NVLinks, 23.94 GB/s each, are not those of ranks: GPUs 3 and 4 have none
// in common, and what goes from one to the other crosses the sockets at 10 GB/s.
TEST(NodeSharing, KnowsWhichRanksAreNeighbours) {
  EXPECT_NEAR(slowed_by("dgx-1-v100", 1, 8, {1, 8, 1, 1}), 23.94 / 10, 1e-6);
}

// Of a ring of two GPUs in each of two nodes the slowest message is that between nodes, at 1.25
// GB/s, though two groups share the 10 GB/s between sockets.
TEST(NodeSharing, ARingWaitsForItsSlowestMessage) {
  EXPECT_DOUBLE_EQ(slowed_by("pcie-4", 2, 4, {2, 1, 4, 1}), 1);
}

// Eight groups with a GPU in each of two nodes share the adapter of 1.25 GB/s, which closed forms
// know: the links to it are wider.
TEST(NodeSharing, LeavesAdaptersToClosedForms) {
  EXPECT_DOUBLE_EQ(slowed_by("pcie-8", 2, 8, {8, 1, 2, 1}), 1);
}

}  // namespace
}  // namespace steptime
