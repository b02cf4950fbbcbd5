#include "sim/legend.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMicro = std::chrono::microseconds(1);

TEST(Legend, OneColourPerKindAndOneRowPerSort) {
  Legend legend(false);
  const std::string nvlink = legend.colour("nvlink", {20e9}, kMicro);
  const std::string pcie = legend.colour("pcie", {12e9}, kMicro);
  EXPECT_NE(nvlink, pcie);
  EXPECT_EQ(legend.colour("nvlink", {20e9}, kMicro), nvlink);
  EXPECT_EQ(legend.colour("pcie", {12e9}, {}), pcie);  // another sort of the same kind
  const std::string table = legend.vertex("");
  const std::string row = "<td align=\"right\">20 GB/s</td><td align=\"right\">1 us</td>";
  EXPECT_NE(table.find(row), std::string::npos) << table;
  EXPECT_EQ(table.find(row), table.rfind(row));
  EXPECT_NE(table.find("<td align=\"right\">0 us</td>"), std::string::npos) << table;
}

TEST(Legend, ByWidthAnotherBandwidthHasAnotherColour) {
  Legend legend(true);
  EXPECT_NE(std::string(legend.colour("link", {1e9}, {})), legend.colour("link", {2e9}, {}));
}

TEST(Legend, OfNoLinksIsNone) {  // Graphviz takes no table without rows
  EXPECT_EQ(Legend(false).vertex(""), "");
}

TEST(Legend, KindsAreText) {
  Legend legend(false);
  legend.colour("<b>&\n", {1e9}, {});
  EXPECT_NE(legend.vertex("").find("&lt;b&gt;&amp;?"), std::string::npos) << legend.vertex("");
}

TEST(Legend, FewParallelLinksAreLinesManyAreANumber) {
  EXPECT_EQ(drawn_link("a", "b", "red", 1), "  a -- b [color=\"red\"];\n");
  EXPECT_EQ(drawn_link("a", "b", "red", 2), "  a -- b [color=\"red:white:red\"];\n");
  EXPECT_EQ(drawn_link("a", "b", "red", 12),
            "  a -- b [color=\"red\", penwidth=4, label=\"12x\", fontcolor=\"red\"];\n");
}

TEST(Legend, NamesAreQuoted) {
  EXPECT_EQ(quoted("a\"b"), "\"a\\\"b\"");
}

}  // namespace
}  // namespace steptime
