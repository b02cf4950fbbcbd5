#include "sim/training/servers_of_hosts.h"

#include "tests/support/one_ms_roads.h"

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
using Ends = std::vector<std::int64_t>;

/// When each host's push is answered, and its pull, which follows, ms. `late`: when host 1 pushes.
Ends push_and_pull(TrainingPlan plan, std::int64_t late = 0, Timeline* timeline = nullptr) {
  World world;
  OneMsRoads roads(world, plan);
  ServersOfHosts hosts(world, plan, roads, timeline, {"key"});
  Ends ends(4);
  std::vector<OnEnd> clients;
  clients.reserve(4);
  const auto ms = [](When end) { return since_start(end.time) / milliseconds(1); };
  for (std::int32_t host = 0; host < 2; ++host) {
    const auto pulled = static_cast<std::size_t>(2 * host + 1);
    OnEnd& values = clients.emplace_back(
        [&ends, pulled, ms](std::int32_t, When end) { ends[pulled] = ms(end); });
    OnEnd& answered = clients.emplace_back([&, host, pulled, ms](std::int32_t, When end) {
      ends[pulled - 1] = ms(end);
      world.engine.at(end, Phase::kNormal, [&, host] { hosts.servers().pull(host, 0, values); });
    });
    world.engine.at(Time(milliseconds(host * late)), Phase::kNormal,
                    [&hosts, &answered, host] { hosts.servers().push(host, 0, answered); });
  }
  world.run();
  return ends;
}

// A push takes 1 ms and its answer 1; a request 1 and the values 1.
TEST(ServersOfHosts, ANodeIsAClient) {
  EXPECT_EQ(push_and_pull(two_nodes(on_gpus())), (Ends{2, 4, 2, 4}));
}

TEST(ServersOfHosts, WaitForAllNodesOrForNone) {
  EXPECT_EQ(push_and_pull(two_nodes(on_gpus()), 5), (Ends{7, 9, 7, 9}));
  EXPECT_EQ(push_and_pull(two_nodes(on_gpus(), kAsgd), 5), (Ends{2, 4, 7, 9}));
}

// 2 MB a ms through a host's thread: its halves leave at 1 and 2, are in at 2 and 3, and answered
// at 3 and 4. Then both values are asked for, 1, sent, 1, and received one after another: 8.
TEST(ServersOfHosts, AHostSendsAndReceivesInTurn) {
  TrainingPlan plan = two_nodes(on_gpus());
  plan.aggregation.beyond->client_rate = Bandwidth{2e9};
  EXPECT_EQ(push_and_pull(std::move(plan)), (Ends{4, 8, 4, 8}));
}

TEST(ServersOfHosts, ATimelineShowsPushesAndPulls) {
  Timeline timeline;
  push_and_pull(two_nodes(on_gpus()), 0, &timeline);
  // Of two halves on their way at once each has a track: push, push 2, pull, pull 2 of each host.
  EXPECT_EQ(timeline.tracks().size(), 2U * 4U);
}

}  // namespace
}  // namespace steptime
