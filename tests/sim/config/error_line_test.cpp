#include "sim/config/error_line.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ErrorLine, HasAtMost2000Bytes) {
  EXPECT_EQ(error_line("a.json: /name: wrong"), "a.json: /name: wrong");
  const std::string most(2000, 'x');
  EXPECT_EQ(error_line(most), most);
  // 1,400 bytes, " ... " and the last 595.
  EXPECT_EQ(error_line("a" + most + "b"),
            "a" + std::string(1399, 'x') + " ... " + std::string(594, 'x') + "b");
  // Characters of two bytes stay whole: byte 1,400 and the 595th from the end are in the middle of
  // one, so that either part has a byte less.
  std::string wide = "a";
  for (int i = 0; i < 1200; ++i)
    wide += "\u00fc";
  const std::string cut = error_line(wide);
  EXPECT_EQ(cut.size(), 1399 + 5 + 594);
  EXPECT_EQ(cut.substr(1399, 5), " ... ");
}

TEST(ErrorLine, IsReadable) {
  EXPECT_EQ(error_line("a\nb\x1b \u202ec"), "a?b? \\u202ec");
  EXPECT_EQ(error_lines("deadlock:\nworker 0\x1b\n" + std::string(3000, 'x')),
            "deadlock:\nworker 0?\n" + std::string(1400, 'x') + " ... " + std::string(595, 'x'));
}

}  // namespace
}  // namespace steptime
