#include "sim/learning/update.h"
#include "tests/support/config_text.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Esgd, DefaultsAreThePapers) {
  const auto esgd = make<Update>(R"({"type": "esgd"})");
  EXPECT_TRUE(esgd->sends_parameters());
  EXPECT_FALSE(esgd->waits_for_all());
  EXPECT_FALSE(esgd->ends_together());
  EXPECT_EQ(esgd->default_steps(), 64);  // its interval: 001 section 5
  EXPECT_TRUE(esgd->pull_sees_push());
}

TEST(Esgd, ExchangesInEveryIntervalThStepTheFirstIncluded) {
  const auto esgd = make<Update>(R"({"type": "esgd", "interval": 4, "reading": "simultaneous"})");
  EXPECT_TRUE(esgd->exchanges(0));
  EXPECT_FALSE(esgd->exchanges(1));
  EXPECT_FALSE(esgd->exchanges(3));
  EXPECT_TRUE(esgd->exchanges(4));
  EXPECT_EQ(esgd->exchanges_in(4), 1);
  EXPECT_EQ(esgd->exchanges_in(9), 3);  // steps 0, 4 and 8
  EXPECT_FALSE(esgd->pull_sees_push());
}

TEST(Esgd, CentreAndClientMoveTowardsEachOther) {
  // alpha 1/4. Equation 2: c = 2 + (10 - 2) / 4. Equation 3 with c = 6: w = 10 - (10 - 6) / 4.
  const auto esgd = make<Update>(R"({"type": "esgd", "alpha": 0.25})");
  std::vector<double> center{2};
  std::vector<double> velocity{5};
  std::vector<double> client{10};
  esgd->on_server({center, velocity}, {client, 1}, {.rate = 1, .momentum = 1});
  EXPECT_EQ(center[0], 4);
  EXPECT_EQ(velocity[0], 5);
  esgd->on_client(client, std::vector<double>{6});
  EXPECT_EQ(client[0], 9);
}

TEST(Esgd, NeedsACentreThatSeesEveryClient) {
  const auto esgd = make<Update>(R"({"type": "esgd"})");
  EXPECT_EQ(esgd->refusal({}), "");
  EXPECT_EQ(esgd->refusal({.holds_center = false}),
            "esgd needs parameter servers, which hold the centre; choose parameter-server, or "
            "hybrid with servers");
  EXPECT_EQ(esgd->refusal({.pulls_in_next_step = true}),
            "esgd pulls in the step that pushes; choose other requests than \"next-step\"");
  EXPECT_EQ(esgd->refusal({.adds_up_in_nodes = true}),
            "esgd exchanges parameters, which a kvstore's nodes would add up");
}

}  // namespace
}  // namespace steptime
