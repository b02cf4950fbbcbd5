#include "sim/learning/update.h"
#include "tests/support/config_text.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Asgd, IsAsynchronous) {
  const auto asgd = make<Update>(R"({"type": "asgd"})");
  EXPECT_FALSE(asgd->waits_for_all());
  EXPECT_FALSE(asgd->sends_parameters());
  EXPECT_FALSE(asgd->ends_together());
  EXPECT_EQ(asgd->default_steps(), 20);
}

TEST(Asgd, ServersDescendByEachPush) {
  // A push of two workers with sum 6, mean 3: v = 0 - 0.5 * 3, w = 1 - 1.5.
  std::vector<double> w{1};
  std::vector<double> v{0};
  const std::vector<double> sum{6};
  make<Update>(R"({"type": "asgd"})")->on_server({w, v}, {sum, 2}, {.rate = 0.5, .momentum = 0.9});
  EXPECT_DOUBLE_EQ(w[0], -0.5);
}

TEST(Asgd, NeedsServersThatHoldTheParameters) {
  const auto asgd = make<Update>(R"({"type": "asgd"})");
  EXPECT_EQ(asgd->refusal({}), "");
  EXPECT_EQ(asgd->refusal({.adds_up_in_nodes = true}), "");
  EXPECT_EQ(asgd->refusal({.holds_center = false}),
            "asgd needs parameter servers, as workers meet nowhere else; choose parameter-server, "
            "or hybrid or kvstore with servers");
}

}  // namespace
}  // namespace steptime
