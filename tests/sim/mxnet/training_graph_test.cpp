// Are layers cut into segments and buckets into keys as the framework does it?
#include "sim/mxnet/training_graph.h"

#include "tests/support/embedded.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Keys = std::vector<std::int32_t>;

TrainingGraph graph_of(const Workload& workload, std::int64_t bulk,
                       std::string_view schedule = R"({"type": "wfbp"})") {
  const auto planner = make<Schedule>(schedule);
  const auto units = workload.units(planner->granularity());
  const LinearCollective collective = line(Duration(5), Duration(2));
  return training_graph(plan_step(workload, units, planner->plan(units, collective), collective, 2),
                        workload, units, collective.startup(), bulk);
}

TEST(TrainingGraph, KeysAreNumberedInForwardOrder) {
  const std::vector<LayerTimes> times{{kSecond, kSecond}, {kSecond, kSecond}, {kSecond, kSecond}};
  const TrainingGraph graph = graph_of(layers_of(times), 15);
  ASSERT_EQ(graph.keys.size(), 3u);
  EXPECT_EQ(graph.keys[0].name, "t1");
  EXPECT_EQ(graph.keys[2].name, "t3");
  EXPECT_EQ(graph.keys[0].cost.startup, Duration(5));
  EXPECT_EQ(graph.keys[0].cost.work, Duration(2));
}

// Forward: bulks of 2 layers. Backward: a segment per layer with a tensor.
TEST(TrainingGraph, BackwardSegmentsEndAtGradients) {
  std::vector<LayerTimes> times{
      {Duration(1), Duration(10)}, {Duration(2), Duration(20)}, {Duration(4), Duration(40)}};
  Workload workload = layers_of(times);
  workload.trace.layers[2].tensors.clear();
  const TrainingGraph graph = graph_of(workload, 2);
  ASSERT_EQ(graph.forward_segments, 2u);
  ASSERT_EQ(graph.segments.size(), 4u);
  EXPECT_EQ(graph.segments[0].duration, Duration(3));
  EXPECT_EQ(graph.segments[0].keys, (Keys{0, 1}));
  EXPECT_EQ(graph.segments[1].duration, Duration(4));
  EXPECT_EQ(graph.segments[2].duration, Duration(60));  // layers 3 and 2
  EXPECT_EQ(graph.segments[2].keys, Keys{1});
  EXPECT_EQ(graph.segments[3].keys, Keys{0});
  EXPECT_TRUE(graph.segments[2].is_backward);
}

TEST(TrainingGraph, OneForwardSegmentWhenOnlyTheTotalIsKnown) {
  const std::vector<Gradient> gradients{{Duration(5), 1}, {Duration(6), 1}};
  const TrainingGraph graph = graph_of(workload_of(gradients, Duration(9)), 1);
  EXPECT_EQ(graph.forward_segments, 1u);
  EXPECT_EQ(graph.segments[0].duration, Duration(9));
  EXPECT_EQ(graph.segments[0].keys.size(), 2u);
}

TEST(TrainingGraph, ABucketIsOneKey) {
  const std::vector<LayerTimes> times{{kSecond, kSecond}, {kSecond, kSecond}};
  const TrainingGraph graph = graph_of(layers_of(times), 15, R"({"type": "sync-easgd"})");
  ASSERT_EQ(graph.keys.size(), 1u);
  EXPECT_EQ(graph.keys[0].name, "t2 + 1 more");
  EXPECT_TRUE(graph.after_backward);
  EXPECT_EQ(graph.segments[0].keys, Keys{0});
}

}  // namespace
}  // namespace steptime
