#include "sim/collective/message_collective.h"

#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// All that there is to say of a collective: every rank sends all that it has to the next.
class Rotation final : public MessageCollective {
 public:
  using MessageCollective::MessageCollective;
  Programs programs(Bytes m) const override {
    class Program final : public steptime::Program {
     public:
      Program(Rank n, Slice data) : n_(n), data_(data) {}
      Rank ranks() const override { return n_; }
      std::int32_t steps(Rank) const override { return 1; }
      Op op(Rank rank, std::int32_t) const override {
        return {.send = {.first = (rank + 1) % n_, .count = 1, .slice = data_},
                .recv = {.first = (rank + n_ - 1) % n_, .count = 1, .slice = data_}};
      }
      double messages() const override { return n_; }

     private:
      Rank n_;
      Slice data_;
    };
    ++asked;
    return one(std::make_unique<Program>(4, Slice{0, m.count}));
  }
  mutable int asked = 0;
};

const bool kRegistered = Collectives::instance().add(
    "rotation", "to the next rank; of tests", {},
    [](const Config&, const Cluster& cluster) { return std::make_unique<Rotation>(cluster); });

TEST(MessageCollective, TakesTheTimeOfItsMessages) {
  // Each of four nodes sends 1000 B and receives as many: 50 us and 800 ps a byte.
  const auto rotation = collective_of(R"({"type": "rotation"})", star_cluster(4));
  EXPECT_EQ(rotation->time({1000}).count(), kLatencyPs + 1000 * kPsPerByte);
  EXPECT_EQ(rotation->startup().count(), kLatencyPs);
  EXPECT_FALSE(rotation->linear().has_value());
  EXPECT_EQ(rotation->outside_domain({1000}), "");
}

// A message of no bytes is eager, and takes 5 us more than those with a rendezvous: 55 us, where
// 1000 B take 50 us and 0.8. All of these are start-up, and no stage takes less than nothing.
TEST(MessageCollective, AStartUpIsNoLongerThanTheWhole) {
  Cluster cluster = star_cluster(4);
  cluster.messages.eager_overhead = std::chrono::microseconds(5);
  const Rotation rotation(cluster);
  EXPECT_EQ(rotation.startup().count(), kLatencyPs + 5'000'000);
  const std::vector<Stage> stages = rotation.stages({1000});
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].startup.count(), kLatencyPs + 1000 * kPsPerByte);
  EXPECT_EQ(stages[0].work.count(), 0);
}

TEST(MessageCollective, SharesLinksAsItsMessagesDo) {
  // Two nodes of two GPUs: ranks 1 and 3 send to the other node, 0 and 2 to their neighbours; with
  // links of 2 us and 100 ps a byte inside a node, the port of a node decides.
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 2;
  cluster.intra_node = {std::chrono::microseconds(2), {1e10}};
  EXPECT_EQ(Rotation(cluster).time({1000}).count(), message_ps(1000));
}

TEST(MessageCollective, PlaysASizeOnce) {
  const Rotation rotation(star_cluster(4));
  EXPECT_EQ(rotation.time({1000}), rotation.time({1000}));
  EXPECT_EQ(rotation.asked, 1);
}

TEST(MessageCollective, IsOneStageOnTheLinksThatItCrosses) {
  Cluster cluster = star_cluster(4);
  const auto stages = Rotation(cluster).stages({1000});
  ASSERT_EQ(stages.size(), 1);
  EXPECT_EQ(stages[0].where, Pairs::kBetweenNodes);
  EXPECT_EQ(stages[0].startup.count(), kLatencyPs);
  EXPECT_EQ(stages[0].work.count(), 1000 * kPsPerByte);
  cluster.nodes = 1;
  cluster.gpus_per_node = 4;
  EXPECT_EQ(Rotation(cluster).stages({1000}).front().where, Pairs::kInNode);
}

/// A collective of so many messages that nobody plays them.
class Endless final : public MessageCollective {
 public:
  using MessageCollective::MessageCollective;
  Programs programs(Bytes) const override {
    class Program final : public steptime::Program {
     public:
      Rank ranks() const override { return 2; }
      std::int32_t steps(Rank) const override { return 0; }
      Op op(Rank, std::int32_t) const override { return {}; }
      double messages() const override { return 2e12; }
    };
    return one(std::make_unique<Program>());
  }
};

TEST(MessageCollective, RefusesToPlayForHours) {
  EXPECT_EQ(message_of<PlacedError>([] { Endless(star_cluster(2)).time({1}); }),
            "/strategy/aggregation/collective: about 2e+12 messages of two links to play, at most "
            "1e+10; collectives with a closed form need not play any");
}

}  // namespace
}  // namespace steptime
