#include "sim/evidence/markdown.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Markdown, ACellKeepsItsColumn) {
  MarkdownTable table({"a", "b"});
  table.add({"x | y", ""});
  table.add({"two\nlines", code("1")});
  EXPECT_EQ(table.text(),
            "| a | b |\n"
            "|---|---|\n"
            "| x \\| y | |\n"
            "| two lines | `1` |\n");
}

TEST(Markdown, SlugsAreThoseOfHeadings) {
  EXPECT_EQ(slug("/cluster/intra_node"), "clusterintra_node");
  EXPECT_EQ(slug("How accurate is it?"), "how-accurate-is-it");
  EXPECT_EQ(slug("tf-mpi"), "tf-mpi");
}

}  // namespace
}  // namespace steptime
