#include "sim/layouts/message_count.h"

#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::shared_ptr<const Cluster> node_of(std::int64_t gpus) {
  Cluster cluster;
  cluster.gpus_per_node = gpus;
  cluster.intra_node = {{}, {1e12}};
  return std::make_shared<const Cluster>(std::move(cluster));
}

// What the network then delivers, for exchanges of every kind.
TEST(MessageCount, IsWhatIsPlayed) {
  for (const char* context : {"ring", "all-gather", "ulysses"}) {
    for (const Coordinates degrees : {Coordinates{2, 1, 2, 2}, {1, 4, 1, 1}, {2, 2, 1, 2}}) {
      ModelWork work = work_of_blocks(4, {8, 8, 4});
      work.exchanged = {.hidden = {40}, .queries = {20}, .keys_values = {16}};
      const LayoutPlan plan =
          plan_of({.degrees = degrees,
                   .context = std::string(R"({"type": ")") + context + R"("})",
                   .micro_batches = 3,
                   .cluster = node_of(degrees[0] * degrees[1] * degrees[2] * degrees[3]),
                   .plays_messages = true},
                  std::move(work));
      EXPECT_EQ(messages_of(plan), static_cast<double>(play_layout(plan).messages)) << context;
    }
  }
}

}  // namespace
}  // namespace steptime
