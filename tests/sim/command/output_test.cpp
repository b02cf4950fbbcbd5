#include "sim/command/output.h"

#include "sim/config/json.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <filesystem>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

class Output : public testing::Test {
 protected:
  Output()
      : folder_(fs::temp_directory_path() /
                ("output_test." + std::to_string(getpid()) + "." +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(folder_);
  }
  ~Output() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
};

TEST_F(Output, StandsUnderItsNameOnlyWhenWhole) {
  OutputFile file(path("a.txt"));
  file.write("one ");
  file.flush();
  EXPECT_FALSE(fs::exists(path("a.txt")));
  EXPECT_EQ(read_file(path("a.txt.partial")), "one ");
  file.write("two");
  file.commit();
  EXPECT_EQ(read_file(path("a.txt")), "one two");
  EXPECT_FALSE(fs::exists(path("a.txt.partial")));
  EXPECT_EQ(file.path(), path("a.txt"));
}

TEST_F(Output, IsRemovedWhenItIsNotCommitted) {
  write_file(path("a.txt"), "old");
  {
    OutputFile file(path("a.txt"));
    file.write("new");
  }
  EXPECT_EQ(read_file(path("a.txt")), "old");
  EXPECT_FALSE(fs::exists(path("a.txt.partial")));
}

TEST_F(Output, ReplacesAFileInAFolder) {
  create_folder(path("x/y"));
  create_folder(path("x/y"));
  write_file(path("x/y/a.txt"), "old");
  write_file(path("x/y/a.txt"), std::string("n\0w", 3));
  EXPECT_EQ(read_file(path("x/y/a.txt")), std::string("n\0w", 3));
}

TEST_F(Output, SaysWhatCannotBeWritten) {
  write_file(path("file"), "");
  fs::create_directory(path("folder"));
  EXPECT_EQ(message_of<InputError>([&] { write_file(path("folder"), ""); }),
            path("folder") + ": cannot be written: is a directory");
  EXPECT_EQ(message_of<InputError>([&] { create_folder(path("file/x")); }),
            path("file/x") + ": cannot be created: Not a directory");
  EXPECT_EQ(message_of<InputError>([&] { write_file(path("absent/a.txt"), ""); }),
            path("absent/a.txt") + ": cannot be written: No such file or directory");
  const std::string long_name(300, 'x');  // names end at 255 bytes
  EXPECT_EQ(message_of<InputError>([&] { write_file(path(long_name), ""); }),
            path(long_name) + ": cannot be written: File name too long");
}

TEST_F(Output, LeavesNothingBehindWhenItCannotBeRenamed) {
  OutputFile file(path("a.txt"));
  fs::create_directories(path("a.txt/in the way"));
  EXPECT_EQ(message_of<InputError>([&] { file.commit(); }),
            path("a.txt") + ": cannot be written: Is a directory");
  EXPECT_FALSE(fs::exists(path("a.txt.partial")));
}

}  // namespace
}  // namespace steptime
