// Does a result say what it is worth in one line, and the same to programs?
#include "sim/experiment/validity.h"

#include "sim/config/json.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Validity, SaysItsReasonsInALine) {
  const Validity sure{.status = Validity::Status::kValidated, .n = 6};
  EXPECT_EQ(sure.text(), "validated");
  EXPECT_TRUE(sure.is_validated());
  const Validity doubted{.status = Validity::Status::kExtrapolated, .beyond = {"far", "slow"}};
  EXPECT_EQ(doubted.text(), "extrapolated: far; slow");
  EXPECT_FALSE(doubted.is_validated());
  EXPECT_EQ(Validity{}.text(), "unvalidated");
}

// What is written for programs says the same line when it is read again.
TEST(Validity, IsReadAsItWasWritten) {
  const Validity doubted{.status = Validity::Status::kExtrapolated,
                         .n = 7,
                         .typical_pct = 2.5,
                         .worst_pct = 9.5,
                         .beyond = {"far", "slow"}};
  EXPECT_EQ(doubted.json(), R"({"status":"extrapolated","n":7,"typical_pct":2.5,"worst_pct":9.5,)"
                            R"("beyond":["far","slow"]})");
  EXPECT_EQ(Validity::text(Json::parse(doubted.json())), doubted.text());
  EXPECT_EQ(Validity{}.json(), R"({"status":"unvalidated","n":0,"typical_pct":0,"beyond":[]})");
}

}  // namespace
}  // namespace steptime
