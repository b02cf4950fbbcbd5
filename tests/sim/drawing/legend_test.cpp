#include "sim/drawing/legend.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMicro = std::chrono::microseconds(1);

TEST(Legend, OneColourPerKindAndOneRowAndLinePerSort) {
  Legend legend(false);
  const LinkStyle nvlink = legend.style("nvlink", {20e9}, kMicro);
  const LinkStyle pcie = legend.style("pcie", {12e9}, kMicro);
  EXPECT_STRNE(nvlink.colour, pcie.colour);
  EXPECT_EQ(legend.style("nvlink", {20e9}, kMicro), nvlink);
  const LinkStyle other = legend.style("pcie", {12e9}, {});
  EXPECT_STREQ(other.colour, pcie.colour);
  EXPECT_STREQ(pcie.line, "solid");
  EXPECT_STREQ(other.line, "dashed");
  const std::string table = legend.vertex("");
  const std::string row = "<td align=\"right\">20 GB/s</td><td align=\"right\">1 us</td>";
  EXPECT_NE(table.find(row), std::string::npos) << table;
  EXPECT_EQ(table.find(row), table.rfind(row));
  EXPECT_NE(table.find("<b>&#9473; &#9473;</b></font></td><td align=\"left\">pcie</td><td "
                       "align=\"right\">12 GB/s</td><td align=\"right\">0 us</td>"),
            std::string::npos)
      << table;
}

TEST(Legend, TheUsualKindsLookAlikeInEveryPicture) {
  Legend one(false), other(false);
  const LinkStyle pcie = one.style("pcie", {12e9}, {});
  other.style("a link of its own", {1e9}, {});
  other.style("memory", {38e9}, {});
  EXPECT_EQ(other.style("pcie", {12e9}, {}), pcie);
}

TEST(Legend, SevenKindsHaveSevenColours) {
  // qpi and upi would like the same one.
  Legend legend(false);
  std::set<std::string> colours;
  for (const char* kind : {"qpi", "upi", "a", "b", "nvlink", "pcie", "memory"})
    colours.insert(legend.style(kind, {1e9}, {}).colour);
  EXPECT_EQ(colours.size(), 7U);
}

TEST(Legend, ByWidthAnotherBandwidthHasAnotherColour) {
  Legend legend(true);
  EXPECT_STRNE(legend.style("link", {1e9}, {}).colour, legend.style("link", {2e9}, {}).colour);
}

TEST(Legend, OfNoLinksIsNone) {  // Graphviz takes no table without rows
  EXPECT_EQ(Legend(false).vertex(""), "");
}

TEST(Legend, KindsAreText) {
  Legend legend(false);
  legend.style("<b>&\n", {1e9}, {});
  EXPECT_NE(legend.vertex("").find("&lt;b&gt;&amp;?"), std::string::npos) << legend.vertex("");
}

TEST(Legend, FewParallelLinksAreLinesManyAreANumber) {
  const LinkStyle red{"red", "dashed"};
  EXPECT_EQ(drawn_link("a", "b", red, 1), "  a -- b [color=\"red\", style=dashed];\n");
  EXPECT_EQ(drawn_link("a", "b", red, 2), "  a -- b [color=\"red:white:red\", style=dashed];\n");
  EXPECT_EQ(drawn_link("a", "b", red, 12),
            "  a -- b [color=\"red\", style=dashed, penwidth=4, label=\"12x\", "
            "fontcolor=\"red\"];\n");
}

TEST(Legend, NamesAreQuoted) {
  EXPECT_EQ(quoted("a\"b"), "\"a\\\"b\"");
}

}  // namespace
}  // namespace steptime
