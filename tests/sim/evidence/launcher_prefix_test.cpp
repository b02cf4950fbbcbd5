#include "sim/evidence/launcher_prefix.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(LauncherPrefix, IsTakenOff) {
  for (const char* line : {"8 2 float", "[1,0]<stdout>:  8 2 float", "0: 8 2 float",
                           " 12:  8 2 float", "[0] 8 2 float", "[3]: 8 2 float", "> 8 2 float",
                           "2026-01-31T10:00:00.5Z stdout F [1,0]<stdout>: 8 2 float",
                           "2026-01-31T10:00:00Z 8 2 float"})
    EXPECT_EQ(without_launcher_prefix(line), "8 2 float") << line;
  EXPECT_EQ(without_launcher_prefix("[1,0]<stdout>:#  size"), "#  size");
  EXPECT_EQ(without_launcher_prefix("[1,0]<stdout>:"), "");
}

TEST(LauncherPrefix, WhatIsNoneStays) {
  for (const char* line : {"8:2", "[a] 8", "[8", "node1:77:77 [0] NCCL INFO", "2,4 31.92", "-1 3"})
    EXPECT_EQ(without_launcher_prefix(line), line);
}

}  // namespace
}  // namespace steptime
