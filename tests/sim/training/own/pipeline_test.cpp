#include "tests/sim/training/own/pipeline.h"

#include "sim/runtime/mediums.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
}

struct Makespan {
  int stages;
  int micro_batches;
  std::int64_t ms;
};

class OneForwardOneBackward : public testing::TestWithParam<Makespan> {};

TEST_P(OneForwardOneBackward, TakesWorkAndTheBubble) {
  // (m + p - 1) (F + B) with F = 1 ms and B = 2 ms (Narayanan et al., SC21, section 2.2.1).
  const auto [stages, micro_batches, length] = GetParam();
  World world;
  const auto replicas = static_cast<std::size_t>(2);
  Group data(world, {"data"}, replicas * static_cast<std::size_t>(stages),
             std::make_unique<NoMedium>(world));
  std::deque<Pipeline> pipelines;
  for (std::size_t d = 0; d < replicas; ++d) {
    Pipeline& pipeline = pipelines.emplace_back(world, stages, data);
    for (std::size_t s = 0; s < static_cast<std::size_t>(stages); ++s)
      world.spawn({"stage", static_cast<std::int64_t>(s), "replica", static_cast<std::int64_t>(d)},
                  pipeline.rank(s, d * static_cast<std::size_t>(stages) + s, micro_batches));
  }
  world.run();
  world.expect_over();
  for (const Pipeline& pipeline : pipelines) {
    EXPECT_EQ(ms(pipeline.computed), length);
    for (std::size_t s = 0; s < pipeline.memories.size(); ++s) {
      // Stage s keeps the activations of p - s micro-batches at most.
      EXPECT_EQ(pipeline.memories[s].peak(),
                std::min<std::int64_t>(micro_batches, stages - static_cast<int>(s)));
      EXPECT_EQ(pipeline.memories[s].held(), 0);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, OneForwardOneBackward,
                         testing::Values(Makespan{4, 8, 33}, Makespan{8, 8, 45},
                                         Makespan{8, 32, 117}));

}  // namespace
}  // namespace steptime
