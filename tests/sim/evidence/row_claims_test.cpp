// Rows by group: which are in a mean, and what counts as left out.
#include "sim/evidence/row_claims.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

ClaimRow row(const std::string& id, const std::string& kind, double error_pct) {
  return {.id = id,
          .published = 1,
          .simulated = 1 + error_pct / 100,
          .error_pct = error_pct,
          .kind = kind,
          .alternatives = Json::object(),
          .family = "A100 16-bit",
          .group = "g"};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

// (10 + 4) / 2 = 7 and (10 - 4) / 2 = 3 of the two that are predicted.
TEST(RowGroups, MeansAreOfThePredictedRows) {
  const std::string text =
      row_groups_text({row("a", "predicted", 10), row("b", "predicted", -4), row("c", "fitted", 1)},
                      {{"d", "h", "experts are not simulated", false}});
  EXPECT_TRUE(has(text, "A100 16-bit")) << text;
  EXPECT_TRUE(has(text, "7.0 %")) << text;
  EXPECT_TRUE(has(text, "+3.0 %")) << text;
  EXPECT_TRUE(has(text, "+10.0 %")) << text;
  EXPECT_TRUE(has(text, "  1 of h: experts are not simulated")) << text;
}

TEST(RowGroups, ARowThatCouldBeSimulatedCountsAsHalfOff) {
  const std::string text = row_groups_text({}, {{"d", "h", "no cluster", true}});
  EXPECT_TRUE(has(text, "50.0 %")) << text;
}

// 12 / 10 published, 9 / 8 simulated: 0.075 apart; 1.5 s of 2 s of its tensor exchanges go.
TEST(RowGroups, EffectsSayWhichSecondsTheyMove) {
  const RowEffect effect{.what = "a change",
                         .of = "a",
                         .over = "b",
                         .published = 1.2,
                         .simulated = 1.125,
                         .within = 0.05,
                         .moves = "tensor +1.5 s",
                         .reason = "nobody knows"};
  const std::string text = row_groups_text({row("a", "predicted", 10)}, {}, {effect});
  EXPECT_TRUE(
      has(text, "a change                    1.200      1.125    0.05  MISSED  tensor +1.5 s"))
      << text;
  EXPECT_TRUE(has(text, "\na change: nobody knows\n")) << text;
}

TEST(RowGroups, NamesRowsThatRanAndDoNotFit) {
  ClaimRow large = row("a", "predicted", 10);
  large.fits = false;
  EXPECT_TRUE(has(row_groups_text({large, row("b", "predicted", 1)}, {}),
                  "ran, but by their simulated memory do not fit: a\n"));
}

TEST(RowGroups, NoRowsNoText) {
  EXPECT_EQ(row_groups_text({}, {}), "");
}

}  // namespace
}  // namespace steptime
