#include "sim/core/fast_paths.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(FastPaths, AreOffAsLongAsOneSaysSo) {
  EXPECT_TRUE(takes(FastPath::kOneStep, true));
  EXPECT_FALSE(takes(FastPath::kOneStep, false));
  {
    const WithoutFastPaths outer;
    const WithoutFastPaths inner;
    EXPECT_FALSE(takes(FastPath::kOneStep, true));
  }
  EXPECT_TRUE(takes(FastPath::kOneStep, true));
}

/// Whether a test "Suite.Test" stands somewhere in the tests.
bool is_test(const std::string& name) {
  const std::size_t dot = name.find('.');
  const std::string written = "(" + name.substr(0, dot) + ", " + name.substr(dot + 1);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(STEPTIME_TESTS_DIR)) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find(written) != std::string::npos) return true;
  }
  return false;
}

TEST(FastPaths, AreAtMostSixAndEachIsProvedByATest) {
  EXPECT_LE(fast_paths().size(), 6u);
  for (std::size_t i = 0; i < fast_paths().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(fast_paths()[i].path), i);
    EXPECT_TRUE(is_test(std::string(fast_paths()[i].proof))) << fast_paths()[i].proof;
  }
  EXPECT_FALSE(is_test("Step.ThatNobodyWrote"));
}

}  // namespace
}  // namespace steptime
