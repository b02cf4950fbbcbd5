#include "sim/sweeps/journal.h"

#include "sim/config/input_files.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/swept.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const SweepIdentity kIdentity{"tiny", 10, 0xabc};
constexpr const char* kHead =
    R"({"format":"steptime-sweep-rows","version":1,"steptime":")" STEPTIME_VERSION
    R"(","name":"tiny","points":10,"config":"0000000000000abc","complete":)";

std::string row(int point) {
  return "{\"point\":" + std::to_string(point) + ",\"params\":{}}\n";
}
std::string rows_in(const FinishedPoints& points, std::int64_t first = 0, std::int64_t end = 10) {
  std::string all;
  points.each(first, end, [&](std::string_view text) { all += text; });
  return all;
}

TEST(SweepJournal, KeepsRowsInAnyOrderAndGivesThemInTheirs) {
  const TinyFolder folder;
  InputFiles::all().clear();
  const std::string path = folder.path("j");
  {
    JournalWriter journal(path, kIdentity, false);
    journal.append(row(4) + row(5));
    journal.append(row(0));
    journal.append(row(1));
    journal.append(row(7));
  }
  EXPECT_EQ(folder.read("j"),
            kHead + std::string("false}\n") + row(4) + row(5) + row(0) + row(1) + row(7));
  FinishedPoints points;
  points.add(path, kIdentity);
  EXPECT_EQ(points.size(), 5);
  EXPECT_TRUE(points.has(5));
  EXPECT_FALSE(points.has(6));
  EXPECT_FALSE(points.has(2));
  EXPECT_EQ(points.missing(0, 1, 10, 99), (std::vector<std::int64_t>{2, 3, 6, 8, 9}));
  EXPECT_EQ(points.missing(1, 3, 10, 1), (std::vector<std::int64_t>{}));
  EXPECT_EQ(points.missing(0, 3, 10, 1), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(rows_in(points), row(0) + row(1) + row(4) + row(5) + row(7));
  EXPECT_EQ(rows_in(points, 1, 5), row(1) + row(4));
}

TEST(SweepJournal, WhatIsAppendedIsInTheFileWithinASecond) {
  const TinyFolder folder;
  InputFiles::all().clear();
  JournalWriter journal(folder.path("j"), kIdentity, false);
  journal.append(row(3));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_TRUE(folder.read("j").ends_with(row(3)));
}

TEST(SweepJournal, GoesOnBehindTheLastWholeRow) {
  const TinyFolder folder;
  InputFiles::all().clear();
  const std::string path =
      folder.write("j", kHead + std::string("true }\n") + row(0) + row(2) + "{\"point\":3,\"par");
  {
    JournalWriter journal(path, kIdentity, true);
    journal.append(row(3));
    journal.complete();
  }
  EXPECT_EQ(folder.read("j"), kHead + std::string("true }\n") + row(0) + row(2) + row(3));
  InputFiles::all().clear();             // which it is now
  JournalWriter(path, kIdentity, true);  // is at work, so not complete
  EXPECT_EQ(folder.read("j"), kHead + std::string("false}\n") + row(0) + row(2) + row(3));
}

TEST(SweepJournal, DamagedRowsAreSimulatedAgain) {
  const TinyFolder folder;
  for (const std::string& damaged :
       {std::string("nonsense\n"), std::string(20, '\0') + "\n", row(10), std::string("\n")}) {
    FinishedPoints points;
    points.add(folder.write("j", kHead + std::string("false}\n") + row(1) + damaged + row(3)),
               kIdentity);
    EXPECT_EQ(rows_in(points), row(1)) << damaged;
  }
}

TEST(SweepJournal, AnEmptyFileHasNoRows) {
  const TinyFolder folder;
  InputFiles::all().clear();
  FinishedPoints points;
  points.add(folder.write("j", ""), kIdentity);
  points.add(folder.write("k", "{\"format\":\"ste"), kIdentity);
  EXPECT_EQ(points.size(), 0);
  JournalWriter(folder.path("k"), kIdentity, true);
  EXPECT_EQ(folder.read("k"), kHead + std::string("false}\n"));
}

TEST(SweepJournal, TwoHaveEveryPointOnce) {
  const TinyFolder folder;
  FinishedPoints points;
  points.add(folder.write("j", kHead + std::string("false}\n") + row(1) + row(2)), kIdentity);
  points.add(folder.write("k", kHead + std::string("false}\n") + row(2) + row(3) + row(0)),
             kIdentity);
  EXPECT_EQ(points.size(), 4);
  EXPECT_EQ(rows_in(points), row(0) + row(1) + row(2) + row(3));
}

TEST(SweepJournal, RefusesWhatItIsNotOf) {
  const TinyFolder folder;
  const auto refusal = [&](const std::string& text) {
    const std::string path = folder.write("j", text);
    return message_of<InputError>([&] { FinishedPoints().add(path, kIdentity); })
        .substr(path.size());
  };
  EXPECT_EQ(refusal("{\"name\": \"x\"}\n"),
            ":1: expected rows of an unfinished sweep, got \"{\\\"name\\\": \\\"x\\\"}\"");
  EXPECT_EQ(refusal("hello\n"), ":1: expected rows of an unfinished sweep, got \"hello\"");
  std::string head = kHead + std::string("false}\n");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = head;
    return other.replace(other.find(from), from.size(), to);
  };
  EXPECT_EQ(refusal(with("\"version\":1", "\"version\":2")),
            ": /version: expected 1, got 2: another release of Steptime began this sweep");
  EXPECT_EQ(refusal(with(STEPTIME_VERSION, "9")),
            ": /steptime: expected \"" STEPTIME_VERSION
            "\", got \"9\": another release of Steptime began this sweep");
  EXPECT_EQ(refusal(with("abc", "abd")),
            ": /config: expected \"0000000000000abc\", got \"0000000000000abd\": it is of another "
            "config or other --set values; finish it with those, or remove it");
}

TEST(SweepJournal, IsNotBegunAnewWhileItHasRows) {
  const TinyFolder folder;
  InputFiles::all().clear();
  const std::string path = folder.write("j", kHead + std::string("false}\n") + row(1) + row(2));
  EXPECT_EQ(message_of<InputError>([&] { JournalWriter(path, kIdentity, false); }),
            path +
                ": holds 2 points of a sweep that did not end; --resume continues it, or remove "
                "the file");
  folder.write("j", kHead + std::string("false}\n"));
  JournalWriter(path, {"other", 1, 2}, false);
  EXPECT_NE(folder.read("j").find("other"), std::string::npos);
}

TEST(SweepJournal, HasOneWriter) {
  const TinyFolder folder;
  InputFiles::all().clear();  // numbers of files that are gone are used again
  const JournalWriter first(folder.path("j"), kIdentity, false);
  EXPECT_EQ(message_of<InputError>([&] { JournalWriter(folder.path("j"), kIdentity, true); }),
            folder.path("j") + ": another steptime is writing it");
}

TEST(SweepJournal, IdentityIsOfAllThatRowsDependOn) {
  const TinyFolder folder;
  const Sweep one = sweep_of(folder, R"({"/run/seed": [1, 2]})");
  EXPECT_EQ(identity_of(one, "x", false).points, 2);
  EXPECT_NE(identity_of(one, "x", false).config, identity_of(one, "x", true).config);
  EXPECT_NE(identity_of(one, "x", false).config,
            identity_of(sweep_of(folder, R"({"/run/seed": [1, 3]})"), "x", false).config);
}

}  // namespace
}  // namespace steptime
