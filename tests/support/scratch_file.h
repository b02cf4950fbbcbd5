// Files that live as long as a test.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace steptime {

/// A file with this text in the test's temporary folder, removed at the end of its scope.
class ScratchFile {
 public:
  ScratchFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) /
              (testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() +
               std::string("_") + testing::UnitTest::GetInstance()->current_test_info()->name() +
               "_" + name)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace steptime
