#include "sim/collective/stage_reasons.h"

#include "sim/collective/message_time.h"
#include "tests/support/cluster.h"
#include "tests/support/collectives.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
using Times = std::vector<std::pair<std::string, double>>;

Times times(const Cluster& cluster, const char* collective, bool plays = false) {
  Causes causes;
  Engine engine(&causes);
  const StageReasons reasons(engine);
  const auto of = collective_of(collective, cluster);
  const Bytes bytes{4'000'000};
  PlayedParts parts;
  if (plays) parts = MessageTimes(cluster, *of, true).parts(bytes);
  const When end =
      reasons.end(engine, When{}, *of, bytes, of->time(bytes), plays ? &parts : nullptr);
  Times list;
  for (const Cause& cause : causes.attribution({end}, 1))
    list.emplace_back(cause.cause, cause.seconds);
  return list;
}

Cluster four_nodes() {
  return {.nodes = 4, .network = {milliseconds(1), {1e9}}, .reduction = {0.5e-9}};
}

TEST(StageReasons, ARingStartsUpTransfersAndAddsUp) {
  // 2 (N - 1) = 6 rounds of 1 ms and 1 MB at 1 GB/s; N - 1 = 3 of them add 1 MB at 0.5 ns a byte.
  EXPECT_EQ(times(four_nodes(), R"({"type": "ring"})"), (Times{{"start-up of collectives", 0.006},
                                                               {"transfer of collectives", 0.006},
                                                               {"sums of collectives", 0.0015}}));
}

TEST(StageReasons, AMeasuredLineHasAStartUp) {
  EXPECT_EQ(times(four_nodes(), R"({"type": "linear", "a": "1 ms", "b": "1 ns/B"})"),
            (Times{{"collectives", 0.004}, {"start-up of collectives", 0.001}}));
}

TEST(StageReasons, PlayedMessagesTellTheSame) {
  EXPECT_EQ(times(four_nodes(), R"({"type": "ring"})", true),
            (Times{{"start-up of collectives", 0.006},
                   {"transfer of collectives", 0.006},
                   {"sums of collectives", 0.0015}}));
}

}  // namespace
}  // namespace steptime
