#include "sim/sweeps/journal.h"

#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/swept.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

const SweepIdentity kIdentity{"tiny", 10, 0xabc};
const std::string kSaid =
    R"({"format":"steptime-sweep-rows","version":2,"steptime":")" STEPTIME_VERSION
    R"(","name":"tiny","points":10,"config":"0000000000000abc",)";
const std::string kHead = kSaid + R"("complete":)";

std::string row(int point) {
  return "{\"point\":" + std::to_string(point) + ",\"params\":{}}\n";
}
/// A line as a journal has it: with the CRC-32 of what it goes on from and of its own text.
std::string sealed(const std::string& line, const std::string& before = kSaid) {
  const std::string text = line.substr(0, line.size() - 2);  // without "}\n"
  return fmt::format("{},\"crc32\":\"{:08x}\"}}\n", text, crc32_of(before + text));
}
/// What is in the file for row(point), where no input was said.
std::string kept(int point) {
  return sealed(row(point));
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
  EXPECT_EQ(folder.read("j"), kHead + "false}\n" + kept(4) + kept(5) + kept(0) + kept(1) + kept(7));
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
  EXPECT_TRUE(folder.read("j").ends_with(kept(3)));
}

TEST(SweepJournal, GoesOnBehindTheLastWholeRow) {
  const TinyFolder folder;
  InputFiles::all().clear();
  const std::string path =
      folder.write("j", kHead + "true }\n" + kept(0) + kept(2) + "{\"point\":3,\"par");
  {
    JournalWriter journal(path, kIdentity, true);
    journal.append(row(3));
    journal.complete();
  }
  EXPECT_EQ(folder.read("j"), kHead + "true }\n" + kept(0) + kept(2) + kept(3));
  InputFiles::all().clear();             // which it is now
  JournalWriter(path, kIdentity, true);  // is at work, so not complete
  EXPECT_EQ(folder.read("j"), kHead + "false}\n" + kept(0) + kept(2) + kept(3));
}

TEST(SweepJournal, DamagedRowsAreSimulatedAgain) {
  const TinyFolder folder;
  for (const std::string& damaged : {std::string("nonsense\n"), std::string(20, '\0') + "\n",
                                     row(2), std::string("\n"), sealed(row(2), "another head")}) {
    const std::string file = folder.write("j", kHead + "false}\n" + kept(1) + damaged + kept(3));
    FinishedPoints points;
    points.add(file, kIdentity);
    EXPECT_EQ(rows_in(points), row(1)) << damaged;
    // A merge has nobody who would simulate them.
    EXPECT_EQ(
        message_of<InputError>([&] { FinishedPoints().add(file, kIdentity, Damage::kIsRefused); }),
        file + ":3: expected a row with its checksum, got " +
            brief(Json(damaged.substr(0, damaged.size() - 1))) +
            "; remove the file and sweep its points again");
  }
}

// Names and digests stand before the rows that depend on them, each once, and the checksums of
// these rows go on from there.
TEST(SweepJournal, SaysWhatRowsAreComputedFrom) {
  const TinyFolder folder;
  InputFiles::all().clear();
  const std::string path = folder.path("j");
  {
    JournalWriter journal(path, kIdentity, false);
    journal.say_inputs({{"a.json", "11"}});
    journal.append(row(0));
    journal.say_inputs({{"a.json", "11"}, {"b.json", "22"}});
    journal.append(row(1));
  }
  const std::string a = R"({"input":"a.json","sha1":"11")";
  const std::string b = R"({"input":"b.json","sha1":"22")";
  const std::string text = kHead + "false}\n" + sealed(a + "}\n") + sealed(row(0), kSaid + a) +
                           sealed(b + "}\n", kSaid + a) + sealed(row(1), kSaid + a + b);
  EXPECT_EQ(folder.read("j"), text);
  FinishedPoints points;
  points.add(path, kIdentity);
  EXPECT_EQ(rows_in(points), row(0) + row(1));
  EXPECT_EQ(points.inputs(), (NamedDigests{{"a.json", "11"}, {"b.json", "22"}}));
  // A line less, and what follows is of unknown inputs.
  FinishedPoints others;
  others.add(folder.write(
                 "k", text.substr(0, text.find(R"({"input":"b)")) + sealed(row(1), kSaid + a + b)),
             kIdentity);
  EXPECT_EQ(rows_in(others), row(0));
  // Who goes on knows what was said, and that it must not change.
  InputFiles::all().clear();
  JournalWriter again(path, kIdentity, true);
  again.say_inputs({{"b.json", "22"}});
  again.append(row(2));
  EXPECT_EQ(message_of<InputError>([&] {
              again.say_inputs({{"b.json", "33"}});
            }),
            "b.json: was edited since its first row was written");
  again.flush();
  EXPECT_EQ(folder.read("j"), text + sealed(row(2), kSaid + a + b));
}

TEST(SweepJournal, RowsOfTwoContentsOfAFileAreNotMixed) {
  const TinyFolder folder;
  const auto with = [](const std::string& digest) {
    const std::string input = R"({"input":"a.json","sha1":")" + digest + "\"";
    return kHead + "false}\n" + sealed(input + "}\n");
  };
  FinishedPoints points;
  points.add(folder.write("j", with("11")), kIdentity);
  const std::string other = folder.write("k", with("22"));
  EXPECT_EQ(message_of<InputError>([&] { points.add(other, kIdentity); }),
            other + ": expected rows computed from a.json with sha1 11, as " + folder.path("j") +
                " has them, got 22: it was edited between them; sweep the points of one of the two "
                "again");
  EXPECT_EQ(message_of<InputError>([&] { points.check_inputs(folder.path("x.json")); }),
            folder.path("a.json") + ": cannot be read: No such file or directory");
  folder.write("a.json", "abc");
  EXPECT_EQ(message_of<InputError>([&] { points.check_inputs(folder.path("x.json")); }),
            folder.path("a.json") + ": expected sha1 11, which the rows in " + folder.path("j") +
                " were computed from, got a9993e364706816aba3e25717850c26c9cd0d89d: it was edited "
                "since; undo that, or remove " +
                folder.path("j"));
}

TEST(SweepJournal, AnEmptyFileHasNoRows) {
  const TinyFolder folder;
  InputFiles::all().clear();
  FinishedPoints points;
  points.add(folder.write("j", ""), kIdentity);
  points.add(folder.write("k", "{\"format\":\"ste"), kIdentity);
  EXPECT_EQ(points.size(), 0);
  JournalWriter(folder.path("k"), kIdentity, true);
  EXPECT_EQ(folder.read("k"), kHead + "false}\n");
}

TEST(SweepJournal, TwoHaveEveryPointOnce) {
  const TinyFolder folder;
  FinishedPoints points;
  points.add(folder.write("j", kHead + "false}\n" + kept(1) + kept(2)), kIdentity);
  points.add(folder.write("k", kHead + "false}\n" + kept(2) + kept(3) + kept(0)), kIdentity);
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
  std::string head = kHead + "false}\n";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = head;
    return other.replace(other.find(from), from.size(), to);
  };
  EXPECT_EQ(refusal(with("\"version\":2", "\"version\":1")),
            ": /version: expected 2, got 1: another release of Steptime began this sweep");
  EXPECT_EQ(refusal(with(STEPTIME_VERSION, "9")),
            ": /steptime: expected \"" STEPTIME_VERSION
            "\", got \"9\": another release of Steptime began this sweep");
  EXPECT_EQ(refusal(with("abc", "abd")),
            ": /config: expected \"0000000000000abc\", got \"0000000000000abd\": the config was "
            "edited since, or there are other --set values; finish it with the old ones, or remove "
            "it");
  // What says of a whole file that it is whole counts as much as its rows.
  EXPECT_EQ(refusal(with("complete", "complite")),
            ":1: expected \"complete\":false} at its end, got \"\\\"complite\\\":false}\"; remove "
            "the file and sweep its points again");
  EXPECT_EQ(refusal(with("false}", "trux }")).substr(0, 38),
            ":1: expected rows of an unfinished swe");
}

TEST(SweepJournal, IsNotBegunAnewWhileItHasRows) {
  const TinyFolder folder;
  InputFiles::all().clear();
  const std::string path = folder.write("j", kHead + "false}\n" + kept(1) + kept(2));
  EXPECT_EQ(message_of<InputError>([&] { JournalWriter(path, kIdentity, false); }),
            path +
                ": holds 2 points of a sweep that did not end; --resume continues it, or remove "
                "the file");
  folder.write("j", kHead + "false}\n" +
                        sealed(R"({"input":"a.json","sha1":"11"})"
                               "\n"));
  JournalWriter(path, {"other", 1, 2}, false);
  EXPECT_NE(folder.read("j").find("other"), std::string::npos);
}

TEST(SweepJournal, IsNotWrittenOverAnotherFile) {
  const TinyFolder folder;
  for (const char* text : {"my notes\n", "my notes", "{\"name\": \"x\"}\n1\n2\n"}) {
    const std::string path = folder.write("j", text);
    InputFiles::all().clear();
    for (const bool resumes : {false, true}) {
      EXPECT_EQ(message_of<InputError>([&] { JournalWriter(path, kIdentity, resumes); }),
                path +
                    ": expected no file yet, or rows of an unfinished sweep; another file is not "
                    "written over");
    }
    EXPECT_EQ(folder.read("j"), text);
  }
  const std::string half = folder.write("j", "my notes");
  EXPECT_EQ(message_of<InputError>([&] { FinishedPoints().add(half, kIdentity); }),
            half + ":1: expected rows of an unfinished sweep");
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
