#include "sim/config/data_dir.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(DataDir, HoldsTheShippedData) {
  EXPECT_TRUE(std::filesystem::is_directory(data_dir() / "models"));
  EXPECT_TRUE(std::filesystem::is_directory(data_dir() / "netmodels" / "presets"));
}

TEST(DataDir, DoesNotDependOnTheWorkingDirectory) {
  EXPECT_TRUE(data_dir().is_absolute());
  EXPECT_EQ(data_dir(), std::filesystem::path(STEPTIME_SOURCE_DIR));
}

}  // namespace
}  // namespace steptime
