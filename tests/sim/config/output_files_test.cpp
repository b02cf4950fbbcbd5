#include "sim/config/output_files.h"

#include "sim/config/input_files.h"
#include "sim/config/json.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
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

TEST_F(Output, ReplacesOnlyItsOwnKind) {
  constexpr OutputKind kList{"a list of tests", "list:", "END"};
  const auto refusal = [&](const std::string& file, const std::string& text) {
    write_file(path(file), text);
    std::string said;
    try {
      write_file(path("a.txt"), "list: new END", kList);
    } catch (const InputError& e) {
      said = std::string(e.what()).substr(path("").size());
    }
    EXPECT_EQ(read_file(path(file)), said.empty() ? "list: new END" : text);
    InputFiles::all().clear();
    return said;
  };
  EXPECT_EQ(refusal("a.txt", ""), "");
  EXPECT_EQ(refusal("a.txt", "list: old END"), "");
  // The mark stands in the first or the last 4 KiB.
  EXPECT_EQ(refusal("a.txt", "list:" + std::string(5000, 'x') + "END"), "");
  const std::string other =
      "a.txt: expected no file yet, or a list of tests; another file is not "
      "written over";
  EXPECT_EQ(refusal("a.txt", "notes END"), other);
  EXPECT_EQ(refusal("a.txt", "list: old"), other);
  EXPECT_EQ(refusal("a.txt", "list"), other);
  fs::remove(path("a.txt"));
  // What a killed program has left under the temporary name may end anywhere.
  EXPECT_EQ(refusal("a.txt.partial", "notes"),
            "a.txt.partial: expected no file yet, or a list of tests; another file is not written "
            "over");
  for (const char* begun : {"", "li", "list: ol"}) {
    write_file(path("a.txt.partial"), begun);
    write_file(path("a.txt"), "list: new END", kList);
    EXPECT_FALSE(fs::exists(path("a.txt.partial")));
  }
  // A file that has come meanwhile.
  OutputFile late(path("b.txt"), kList);
  late.write("list: new END");
  write_file(path("b.txt.other"), "notes");
  fs::rename(path("b.txt.other"), path("b.txt"));
  EXPECT_EQ(message_of<InputError>([&] { late.commit(); }).substr(path("").size()),
            "b.txt: expected no file yet, or a list of tests; another file is not written over");
  EXPECT_EQ(read_file(path("b.txt")), "notes");
}

TEST_F(Output, DoesNotWaitForAReader) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(message_of<InputError>([&] { write_file(path("pipe"), "text"); }),
            path("pipe") + ": cannot be written: is a pipe that nobody reads");
  EXPECT_EQ(message_of<InputError>([&] { check_regular_output(path("pipe"), {}); }),
            path("pipe") + ": cannot be written: is no regular file");
  // A pipe that has one is written.
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  write_file(path("pipe"), "text");
  char text[5] = {};
  EXPECT_EQ(::read(reader, text, 4), 4);
  EXPECT_STREQ(text, "text");
  ::close(reader);
  // A temporary file is never one.
  ASSERT_EQ(::mkfifo(path("a.txt.partial").c_str(), 0600), 0);
  const int other = ::open(path("a.txt.partial").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(message_of<InputError>([&] {
              write_file(path("a.txt"), "x", {"x", "x"});
            }),
            path("a.txt.partial") + ": cannot be written: is no regular file");
  ::close(other);
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
