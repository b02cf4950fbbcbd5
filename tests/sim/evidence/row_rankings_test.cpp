// Are ways to do one thing ranked as their published steps are?
#include "sim/evidence/row_rankings.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// Three pairs: the simulated fastest is the second, 1.1 of the best one; one pair is the other way
// round, so that tau is (2 - 1) / 3.
TEST(RowRankings, TextSaysWhatIsChosenAndHowManyPairsAgree) {
  const RowRanking met{.what = "three ways",
                       .rows = 3,
                       .chosen = 1.1,
                       .tau = 1. / 3,
                       .most_chosen = 1.2,
                       .least_tau = 0.3};
  EXPECT_TRUE(met.ok());
  RowRanking missed = met;
  missed.least_tau = 0.5;
  EXPECT_FALSE(missed.ok());
  missed = met;
  missed.most_chosen = 1.05;
  EXPECT_FALSE(missed.ok());
  EXPECT_EQ(rankings_text({}), "");
  const std::string text = rankings_text({met, missed});
  EXPECT_NE(text.find("three ways"), std::string::npos) << text;
  EXPECT_NE(text.find("0.33"), std::string::npos) << text;
  EXPECT_NE(text.find("MISSED"), std::string::npos) << text;
}

}  // namespace
}  // namespace steptime
