#include "sim/command/version.h"

#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Version, IsTheReleaseAndTheCommitWhereThatIsKnown) {
  const std::string version = version_with_commit();
  EXPECT_EQ(version.rfind(STEPTIME_VERSION, 0), 0U);
  EXPECT_TRUE(std::regex_match(version, std::regex(R"([0-9.]+( \([0-9a-f]{7,40}(-dirty)?\))?)")))
      << version;
}

}  // namespace
}  // namespace steptime
