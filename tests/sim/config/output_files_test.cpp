#include "sim/config/output_files.h"

#include "sim/config/input_files.h"
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
    InputFiles::all().clear();  // numbers of files that are gone are used again
  }
  ~Output() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
};

TEST_F(Output, StandsUnderItsNameOnlyWhenWhole) {
  OutputFile file(path("a.txt"));
  file.write("one ");
  EXPECT_FALSE(fs::exists(path("a.txt")));
  EXPECT_TRUE(fs::exists(path("a.txt.partial")));
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

TEST_F(Output, HasOneWriter) {
  OutputFile file(path("a.txt"));
  EXPECT_EQ(message_of<InputError>([&] { OutputFile other(path("a.txt")); }),
            path("a.txt") + ": another steptime is writing it");
  file.write("whole");
  file.commit();
  EXPECT_EQ(read_file(path("a.txt")), "whole");
}

TEST_F(Output, GoesWhereALinkPointsTo) {
  write_file(path("a.txt"), "old");
  fs::create_symlink(path("a.txt"), path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("a.txt")), "new");
}

TEST_F(Output, IsNeverAnInput) {
  write_file(path("a.txt"), "old");
  read_file(path("a.txt"));
  EXPECT_EQ(message_of<InputError>([&] { write_file(path("a.txt"), "new"); }),
            path("a.txt") + ": is an input, which is not written over");
  // Nor when it is read while the output is made.
  OutputFile file(path("b.txt"));
  write_file(path("c.txt"), "old");
  fs::create_hard_link(path("c.txt"), path("b.txt"));
  read_file(path("c.txt"));
  EXPECT_EQ(message_of<InputError>([&] { file.commit(); }),
            path("b.txt") + ": is an input, which is not written over");
  EXPECT_EQ(read_file(path("c.txt")), "old");
  InputFiles::all().clear();
}

TEST_F(Output, ADiskThatIsFullIsSaid) {
  OutputFile file("/dev/full");
  file.write("text");
  EXPECT_EQ(message_of<InputError>([&] { file.commit(); }),
            "/dev/full: cannot be written: No space left on device");
}

TEST_F(Output, WhatIsNotWholeIsRemovedWhenTheProgramIsEnded) {
  const OutputFile file(path("a.txt"));
  remove_unfinished_outputs();
  EXPECT_FALSE(fs::exists(path("a.txt.partial")));
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
