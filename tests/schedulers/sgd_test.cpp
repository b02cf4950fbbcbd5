#include "sim/learning/update.h"
#include "tests/support/config_text.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Sgd, IsSynchronous) {
  const auto sgd = make<Update>(R"({"type": "sgd"})");
  EXPECT_TRUE(sgd->waits_for_all());
  EXPECT_FALSE(sgd->sends_parameters());
  EXPECT_TRUE(sgd->ends_together());
  EXPECT_EQ(sgd->default_steps(), 1);
  EXPECT_EQ(sgd->refusal({.holds_center = false}), "");  // an all-reduce will do
}

TEST(Sgd, DescendsByTheMeanGradient) {
  // Mean 6 / 3 = 2: v = 0.5 * 8 - 0.1 * 2 = 3.8, w = 1 + 3.8; the client takes w as it is.
  const auto sgd = make<Update>(R"({"type": "sgd"})");
  std::vector<double> w{1};
  std::vector<double> v{8};
  const std::vector<double> sum{6};
  sgd->on_server({w, v}, {sum, 3}, {.rate = 0.1, .momentum = 0.5});
  EXPECT_DOUBLE_EQ(v[0], 3.8);
  EXPECT_DOUBLE_EQ(w[0], 4.8);
  std::vector<double> client{7};
  sgd->on_client(client, w);
  EXPECT_EQ(client, w);
}

}  // namespace
}  // namespace steptime
