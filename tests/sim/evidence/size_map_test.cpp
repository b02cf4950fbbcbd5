// Spans of sizes by what is the fastest, where lines cross at known places.
#include "sim/evidence/size_map.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::vector<std::string> kNames{"near", "middle", "far"};

/// 1 + 4 s, 10 + s and 100 + s / 10: they cross at s = 3 and s = 100.
std::vector<double> lines(double size) {
  return {1 + 4 * size, 10 + size, 100 + size / 10};
}

TEST(SizeMap, OneOvertakesTheOtherWhereTheirTimesCross) {
  const std::vector<SizeSpan> spans = fastest_by_size(kNames, 0.001, 1e6, lines);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].fastest, "near");
  EXPECT_NEAR(spans[0].to, 3, 1);  // to the next whole size
  EXPECT_EQ(spans[1].fastest, "middle");
  EXPECT_NEAR(spans[1].to, 100, 1);
  EXPECT_EQ(spans[2].fastest, "far");
  EXPECT_DOUBLE_EQ(spans[2].to, 1e6);
}

/// In units a million times smaller the place is known to a thousandth.
TEST(SizeMap, IsNarrowedDownToAThousandth) {
  const std::vector<SizeSpan> spans =
      fastest_by_size(kNames, 1, 1e12, [](double size) { return lines(size / 1e6); });
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_NEAR(spans[0].to, 3e6, 3e3);
  EXPECT_NEAR(spans[1].to, 1e8, 1e5);
}

/// From 90 to 180 the fastest changes from the first to the last at 100 and 101, within one step.
TEST(SizeMap, SeesWhatIsTheFastestBetweenTwoSizesOnly) {
  const std::vector<SizeSpan> spans = fastest_by_size(kNames, 90, 180, [](double size) {
    return std::vector<double>{size < 120 ? 1.0 : 3.0, 2, size < 140 ? 3.0 : 1.0};
  });
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[1].fastest, "middle");
  EXPECT_NEAR(spans[0].to, 120, 1);
  EXPECT_NEAR(spans[1].to, 140, 1);
}

TEST(SizeMap, ATieGoesToTheFirstName) {
  const std::vector<SizeSpan> spans = fastest_by_size(kNames, 1, 1000, [](double) {
    return std::vector<double>{2, 2, 2};
  });
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].fastest, "near");
}

TEST(SizeMap, IsShownByRow) {
  const SizeMap map{.id = "M-1",
                    .paper = "p",
                    .quantity = "fastest",
                    .unit = "floats",
                    .config = "c.json",
                    .where = "Figure 1",
                    .note = "an idea",
                    .rows = {{.label = "one", .spans = {{"a", 1234567}, {"b", 1e9}}},
                             {.label = "eleven", .spans = {{"a", 1e9}}}}};
  EXPECT_EQ(size_maps_text({map}),
            "\n"
            "M-1, fastest, by floats\n"
            "  one     a to 1.23M, b\n"
            "  eleven  a\n"
            "  note: an idea\n");
  EXPECT_EQ(
      map.json()["rows"][0].dump(),
      R"({"label":"one","spans":[{"fastest":"a","to":1234567.0},{"fastest":"b","to":1000000000.0}]})");
}

}  // namespace
}  // namespace steptime
