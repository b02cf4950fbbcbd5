// When do calls return that go by way of servers?
//
// Two workers and a server on ports of 1 GB/s, 1 ms apart; two keys of 4 MB. One request brings
// what all have pushed.
#include "sim/mxnet/served_calls.h"

#include "tests/support/training.h"

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

struct Scene final : CallListener {
  explicit Scene(const std::string& aggregation, std::int64_t workers, std::int32_t ranks,
                 const std::string& update = kSgd)
      : plan(plan_training(training_experiment(strategy(aggregation, update, "wfbp"), workers))),
        steps(world.engine, 1),
        calls(world, plan, ranks, *this, steps) {}

  void collective_started(CallSubject of) override { started.emplace_back(of.key, ms()); }
  void collective_ended(CallSubject of) override { ended.emplace_back(of.key, ms()); }
  void call(std::int64_t at, std::int32_t rank, std::int32_t key,
            Payload sent = Payload::kGradient) {
    const Callback returns{[](void* self, std::uint64_t of) {
                             auto* scene = static_cast<Scene*>(self);
                             scene->returned[of] = scene->ms();
                           },
                           this, static_cast<std::uint64_t>(rank)};
    calls.call(rank, {key, 0, sent}, When(Time(milliseconds(at))), returns);
  }
  std::int64_t ms() const { return since_start(world.now()) / milliseconds(1); }

  World world;
  TrainingPlan plan;
  FirstSteps steps;
  ServedCalls calls;
  std::vector<std::pair<std::int32_t, std::int64_t>> started;  ///< key, ms
  std::vector<std::pair<std::int32_t, std::int64_t>> ended;
  std::map<std::uint64_t, std::int64_t> returned;  ///< by rank, ms
};

// Rank 0's 4 MB are in at 1 + 4 ms. Rank 1 calls at 2 ms: what it sends finds the port taken until
// 5 ms, and is in at 9 ms. The answers leave one after the other: 13 + 1 and 17 + 1 ms.
TEST(ServedCalls, ReturnWhenTheServersHaveAnswered) {
  Scene run(servers(1), 2, 2);
  run.call(0, 0, 1);
  run.call(2, 1, 1);
  run.world.run();
  run.calls.expect_over();
  EXPECT_EQ(run.returned, (std::map<std::uint64_t, std::int64_t>{{0, 14}, {1, 18}}));
  EXPECT_EQ(run.started, (decltype(run.started){{1, 0}}));
  EXPECT_EQ(run.ended, (decltype(run.ended){{1, 14}}));
  EXPECT_TRUE(run.calls.stuck().empty());
}

const char* const kTwoClients =
    R"({"type": "hybrid", "clients": 2, "servers": 1, "requests": "pushpull",
        "collective": {"type": "ring"}, "spread": {"type": "broadcast"}})";

// Two clients of two workers, which sum 4 MB in a ring: two steps of 1 + 2 ms. Then as above from
// 6 ms on, both pushes at once: in at 11 and 15 ms, back at 20 and 24 ms; a broadcast takes 1 + 4
// ms. A rank stands for both workers of its client.
TEST(ServedCalls, AddUpInsideAClientAndBringValuesToAll) {
  Scene run(kTwoClients, 4, 2);
  run.call(0, 0, 0);
  run.call(0, 1, 0);
  run.world.run();
  EXPECT_EQ(run.returned, (std::map<std::uint64_t, std::int64_t>{{0, 25}, {1, 29}}));
}

// Where they average parameters: what a client's ranks sum is theirs after 6 ms, whatever the other
// does. Parameters, which both ranks have, go to the server at once: back at 14 and 18 ms, and
// broadcast in 5 ms.
TEST(ServedCalls, SumsStayInAClientThatSendsParameters) {
  const std::string local = R"({"type": "local-sgd", "interval": 2})";
  Scene sums(kTwoClients, 4, 2, local);
  sums.call(0, 0, 0);
  sums.world.run();
  EXPECT_EQ(sums.returned, (std::map<std::uint64_t, std::int64_t>{{0, 6}}));
  Scene run(kTwoClients, 4, 2, local);
  run.call(0, 0, 0, Payload::kParameters);
  run.call(0, 1, 0, Payload::kParameters);
  run.world.run();
  EXPECT_EQ(run.returned, (std::map<std::uint64_t, std::int64_t>{{0, 19}, {1, 23}}));
  EXPECT_EQ(run.started, (decltype(run.started){{0, 0}}));
}

TEST(ServedCalls, NameThoseThatDoNotReturn) {
  Scene run(servers(1), 2, 2);
  run.call(1, 1, 0);
  run.world.run();
  const std::vector<StuckCall> stuck = run.calls.stuck();
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].rank, 1);
  EXPECT_EQ(stuck[0].subject, (CallSubject{0, 0}));
}

}  // namespace
}  // namespace steptime
