#include "sim/step/coordinator.h"
#include "tests/support/config_text.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(NoCoordinator, LeavesTheSchedulesPolicy) {
  const auto none = make<Coordinator>(R"({"type": "none"})");
  EXPECT_EQ(none->policy(nullptr, {}, star_cluster(4)), nullptr);
  auto policy = make<Schedule>(R"({"type": "tensor-fusion"})")->policy({});
  const Policy* const same = policy.get();
  EXPECT_EQ(none->policy(std::move(policy), {}, star_cluster(4)).get(), same);
}

}  // namespace
}  // namespace steptime
