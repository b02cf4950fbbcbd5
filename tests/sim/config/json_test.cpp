#include "sim/config/json.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string parse_error(const std::string& text) {
  return message_of<InputError>([&] { parse_json(text, "x.json"); });
}

TEST(Json, KeysKeepTheirOrder) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": [true, null, "t"]})", "x.json").dump(),
            R"({"b":1,"a":[true,null,"t"]})");
}

TEST(Json, SyntaxErrorsNameLineAndColumn) {
  EXPECT_EQ(parse_error(""),
            "x.json: line 1, column 1: not JSON: unexpected end of input; expected '[', '{', or a "
            "literal");
  EXPECT_EQ(parse_error("{\n  \"a\": 1,\n  b\n}"),
            "x.json: line 3, column 3: not JSON: invalid literal; last read: '1,<U+000A>  b'; "
            "expected string literal");
}

TEST(Json, ANewlineInTheWrongPlaceBelongsToTheLineThatItEnds) {
  // Columns 1 to 5 are ["abc, the newline is the sixth character of line 1.
  EXPECT_EQ(parse_error("[\"abc\n\"]").substr(0, 25), "x.json: line 1, column 6:");
}

TEST(Json, TextAfterTheValueIsRefused) {
  EXPECT_EQ(parse_error("{} {}").substr(0, 25), "x.json: line 1, column 4:");
  EXPECT_EQ(parse_json("{} \n", "x.json"), Json::object());
}

TEST(Json, AKeyMayStandOnceInAnObject) {
  EXPECT_EQ(parse_error(R"({"a": 1, "b": {"a": 2}, "a": 3})"),
            "x.json: /a: stands twice in one object");
  EXPECT_EQ(parse_json(R"([{"a": 1}, {"a": 2}])", "x.json").size(), 2U);
}

TEST(Json, DepthEndsAt64) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']');
  };
  EXPECT_NO_THROW(parse_json(nested(64), "x.json"));
  std::string pointer;
  for (int level = 0; level < 64; ++level)
    pointer += "/0";
  const std::string message = "x.json: " + pointer + ": nested deeper than 64 levels";
  EXPECT_EQ(parse_error(nested(65)), message);
  EXPECT_EQ(parse_error(std::string(1'000'000, '[')), message);
}

TEST(Json, WhatCannotBeTakenHasItsPointer) {
  EXPECT_EQ(parse_error(R"({"a": [1, {"b": 2, "b": 3}]})"),
            "x.json: /a/1/b: stands twice in one object");
  EXPECT_EQ(parse_error(R"({"a": [[], [1, -1e400]]})"),
            "x.json: /a/1/1: -1e400 is more than a number can hold");
  EXPECT_EQ(parse_error(std::string("{\"a\": 1}\0, 5", 12)),
            "x.json: line 1, column 9: not JSON: a NUL byte");
}

TEST(Json, NumbersBeyondADoubleAreRefused) {
  EXPECT_EQ(parse_error(R"({"a": 1e999})"), "x.json: /a: 1e999 is more than a number can hold");
}

TEST(Json, MessagesStayOnePrintableLine) {
  for (const std::string text :
       {"\"\xff\"", "[\"a\nb\"]", "{\"\xc3\xa4\": 1, \"\xc3\xa4\": 2}", "[\x01]", "\"\\ud800\""}) {
    const std::string message = parse_error(text);
    EXPECT_EQ(message.substr(0, 7), "x.json:") << message;
    for (const char c : message)
      EXPECT_TRUE(c >= 0x20 && c <= 0x7e) << message;
  }
}

TEST(Json, ReadFileGivesEveryByte) {
  const std::string text("a\r\n\0\xff", 5);
  const ScratchFile file("bytes", text);
  EXPECT_EQ(read_file(file.path()), text);
}

TEST(Json, ReadFileNamesTheFileThatItCannotRead) {
  EXPECT_EQ(message_of<InputError>([] { read_file("/nowhere/x.json"); }),
            "/nowhere/x.json: cannot be read: No such file or directory");
  EXPECT_EQ(message_of<InputError>([] { read_file(STEPTIME_TESTS_DIR); }),
            STEPTIME_TESTS_DIR ": is a directory, expected a file");
}

TEST(Json, BriefIsOneShortLine) {
  EXPECT_EQ(brief(5e-06), "5e-06");
  EXPECT_EQ(brief("a\nb"), R"("a\nb")");
  EXPECT_EQ(brief(Json::object()), "an object");
  EXPECT_EQ(brief(Json::array({1})), "a list");
  EXPECT_EQ(brief(nullptr), "null");
  // 60 characters, the opening quote among them.
  EXPECT_EQ(brief(std::string(100, 'x')), '"' + std::string(59, 'x') + "...");
  EXPECT_EQ(brief("\xff"), R"("\ufffd")");
}

TEST(Json, PointersEscapeAsRfc6901Asks) {
  EXPECT_EQ(join_pointer("", "a"), "/a");
  EXPECT_EQ(join_pointer("/a", "b/c~d"), "/a/b~1c~0d");
  EXPECT_EQ(join_pointer("/a", "\n\xff"), "/a/??");
}

}  // namespace
}  // namespace steptime
