#include "sim/network/gpu_ring.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMicro = std::chrono::microseconds(1);

//   gpu0 --20 GB/s, 1 us-- gpu1 --20 GB/s, 1 us-- gpu2, each with 12 GB/s, 3 us to one switch
Topology three() {
  Topology t;
  const auto plx = t.add_vertex("plx", VertexKind::kPcieSwitch);
  Topology::Vertex gpus[3];
  for (auto& gpu : gpus) {
    gpu = t.add_vertex("gpu", VertexKind::kGpu);
    t.add_link({gpu, plx, 3 * kMicro, {12e9}});
  }
  t.add_link({gpus[0], gpus[1], kMicro, {20e9}});
  t.add_link({gpus[1], gpus[2], kMicro, {20e9}});
  return t;
}

// Two neighbours have a link of their own; from the third back to the first it is twice 3 us over
// the switch, at its 12 GB/s.
TEST(GpuRing, IsAsSlowAsItsWorstWay) {
  const auto all = gpu_ring(three(), RouteMetric::kShortest, 3);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->latency, 6 * kMicro);
  EXPECT_EQ(all->bandwidth.bytes_per_second, 12e9);
  const auto pair = gpu_ring(three(), RouteMetric::kShortest, 2);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->latency, kMicro);
  EXPECT_EQ(pair->bandwidth.bytes_per_second, 20e9);
}

TEST(GpuRing, OfMoreThanThereAreIsOfAll) {
  EXPECT_EQ(gpu_ring(three(), RouteMetric::kShortest, 8)->latency, 6 * kMicro);
}

TEST(GpuRing, IsNotThereWithoutAWay) {
  Topology apart = three();
  apart.add_vertex("gpu", VertexKind::kGpu);
  EXPECT_FALSE(gpu_ring(apart, RouteMetric::kShortest, 4));
  EXPECT_TRUE(gpu_ring(apart, RouteMetric::kShortest, 3));
}

}  // namespace
}  // namespace steptime
