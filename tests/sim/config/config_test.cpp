#include "sim/config/config.h"

#include "sim/config/words.h"
#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const Params kInner{{.key = "size", .kind = Kind::kBytes, .range = kPositive}};
const Params kParams{
    {.key = "latency",
     .kind = Kind::kTime,
     .need = Need::kDefault,
     .fallback = "5 us",
     .range = kNotNegative},
    {.key = "bandwidth", .kind = Kind::kBandwidth, .need = Need::kOptional, .range = kPositive},
    {.key = "gamma", .kind = Kind::kTimePerByte, .need = Need::kOptional},
    {.key = "count",
     .kind = Kind::kInteger,
     .need = Need::kOptional,
     .range = {.low = 1, .high = 8}},
    {.key = "ratio",
     .kind = Kind::kNumber,
     .need = Need::kOptional,
     .range = {.low = 0, .high = 1, .low_is_allowed = false}},
    {.key = "many", .kind = Kind::kInteger, .need = Need::kOptional, .range = {.low = 2}},
    {.key = "on", .kind = Kind::kBoolean, .need = Need::kOptional},
    {.key = "word", .kind = Kind::kText, .need = Need::kOptional, .words = {"red", "green"}},
    {.key = "free/text", .kind = Kind::kText, .need = Need::kOptional},
    {.key = "file", .kind = Kind::kPath, .need = Need::kOptional},
    {.key = "inner", .kind = Kind::kObject, .need = Need::kOptional},
    {.key = "list", .kind = Kind::kList, .need = Need::kOptional}};
const Params kRequired{{.key = "latency", .kind = Kind::kTime}};

template <class T>
std::string get_error(const std::string& json, const std::string& key) {
  return message_of<InputError>([&] { config_of(json, kParams).get<T>(key); });
}

TEST(Config, ReadsEveryKind) {
  const Config c = config_of(R"({"latency": "1 ms", "bandwidth": "8 Gbps", "gamma": "2 ns/B",
      "count": 8, "ratio": 0.5, "on": true, "word": "green", "free/text": "any"})",
                             kParams);
  EXPECT_EQ(c.get<Duration>("latency"), Duration(1'000'000'000));
  EXPECT_EQ(c.get<Bandwidth>("bandwidth"), Bandwidth{1e9});
  EXPECT_EQ(c.get<TimePerByte>("gamma"), TimePerByte{2e-9});
  EXPECT_EQ(c.get<std::int64_t>("count"), 8);
  EXPECT_EQ(c.get<double>("ratio"), 0.5);
  EXPECT_TRUE(c.get<bool>("on"));
  EXPECT_EQ(c.get<std::string>("word"), "green");
  EXPECT_EQ(c.get<std::string>("free/text"), "any");
}

TEST(Config, AMissingKeyHasItsDefaultOrIsAnError) {
  EXPECT_EQ(config_of("{}", kParams).get<Duration>("latency"), Duration(5'000'000));
  EXPECT_FALSE(config_of("{}", kParams).has("latency"));
  EXPECT_EQ(message_of<InputError>([] { config_of("{}", kRequired).get<Duration>("latency"); }),
            "x.json: /latency: required but missing");
}

TEST(Config, ReadingWhatWasNotDeclaredIsABug) {
  const Config c = config_of("{}", kParams);
  EXPECT_THROW(c.get<bool>("undeclared"), InternalError);
  EXPECT_THROW(c.has("undeclared"), InternalError);
  EXPECT_THROW(c.get<bool>("on"), InternalError);  // optional, and read without has()
}

TEST(Config, UnknownKeysAreErrorsWithAGuess) {
  EXPECT_EQ(message_of<InputError>([] { config_of(R"({"latencey": "5 us"})", kRequired); }),
            "x.json: /latencey: unknown key (did you mean \"latency\"?); known: latency");
  EXPECT_EQ(message_of<InputError>([] { config_of(R"({"a/b": 1})", kRequired); }),
            "x.json: /a~1b: unknown key; known: latency");
}

TEST(Config, ABareNumberIsNoQuantity) {
  EXPECT_EQ(get_error<Duration>(R"({"latency": 5e-06})", "latency"),
            "x.json: /latency: expected a time as a string with its unit, got 5e-06");
  EXPECT_EQ(get_error<Bandwidth>(R"({"bandwidth": 1})", "bandwidth"),
            "x.json: /bandwidth: expected a bandwidth as a string with its unit, got 1");
  EXPECT_EQ(get_error<TimePerByte>(R"({"gamma": null})", "gamma"),
            "x.json: /gamma: expected a time per byte as a string with its unit, got null");
  EXPECT_EQ(get_error<Duration>(R"({"latency": "5"})", "latency"),
            "x.json: /latency: \"5\" is not a number followed by one of h, min, s, ms, us, ns, ps");
}

TEST(Config, RangesAreChecked) {
  EXPECT_EQ(get_error<Duration>(R"({"latency": "-1 ps"})", "latency"),
            "x.json: /latency: must not be negative, got \"-1 ps\"");
  EXPECT_EQ(config_of(R"({"latency": "0 s"})", kParams).get<Duration>("latency"), Duration{});
  EXPECT_EQ(get_error<Bandwidth>(R"({"bandwidth": "0 B/s"})", "bandwidth"),
            "x.json: /bandwidth: must be positive, got \"0 B/s\"");
  EXPECT_EQ(get_error<std::int64_t>(R"({"count": 9})", "count"),
            "x.json: /count: must be at least 1 and at most 8, got 9");
  EXPECT_EQ(get_error<std::int64_t>(R"({"count": 0})", "count"),
            "x.json: /count: must be at least 1 and at most 8, got 0");
  EXPECT_EQ(get_error<double>(R"({"ratio": 0})", "ratio"),
            "x.json: /ratio: must be more than 0 and at most 1, got 0");
  EXPECT_EQ(get_error<std::int64_t>(R"({"many": 1})", "many"),
            "x.json: /many: must be at least 2, got 1");
}

TEST(Config, AWholeNumberIsAnInt64) {
  EXPECT_EQ(get_error<std::int64_t>(R"({"count": 2.0})", "count"),
            "x.json: /count: expected a whole number, got 2.0");
  EXPECT_EQ(get_error<std::int64_t>(R"({"count": "2"})", "count"),
            "x.json: /count: expected a whole number, got \"2\"");
  EXPECT_EQ(get_error<std::int64_t>(R"({"many": 9223372036854775808})", "many"),
            "x.json: /many: expected a whole number, got 9223372036854775808");
  EXPECT_EQ(config_of(R"({"many": 9223372036854775807})", kParams).get<std::int64_t>("many"),
            INT64_MAX);
}

TEST(Config, OtherKindsSayWhatTheyExpect) {
  EXPECT_EQ(get_error<double>(R"({"ratio": "1"})", "ratio"),
            "x.json: /ratio: expected a number, got \"1\"");
  EXPECT_EQ(get_error<bool>(R"({"on": 1})", "on"), "x.json: /on: expected true or false, got 1");
  EXPECT_EQ(get_error<std::string>(R"({"free/text": 1})", "free/text"),
            "x.json: /free~1text: expected a string, got 1");
  EXPECT_EQ(get_error<std::string>(R"({"word": "blue"})", "word"),
            "x.json: /word: unknown \"blue\"; known: red, green");
  EXPECT_EQ(get_error<std::string>(R"({"file": ""})", "file"),
            "x.json: /file: expected a file name, got \"\"");
  EXPECT_EQ(get_error<std::string>(R"({"file": {}})", "file"),
            "x.json: /file: expected a file name, got an object");
  EXPECT_EQ(message_of<InputError>([] { config_of("[1]", kParams); }),
            "x.json: /: expected an object, got a list");
}

TEST(Config, PathsAreRelativeToTheFileThatNamesThem) {
  const auto document =
      std::make_shared<Document>(Document{"a/b/x.json", Json{{"file", "../t.json"}}});
  EXPECT_EQ(Config(document, kParams).get<std::string>("file"), "a/t.json");
  const auto absolute =
      std::make_shared<Document>(Document{"a/b/x.json", Json{{"file", "/t.json"}}});
  EXPECT_EQ(Config(absolute, kParams).get<std::string>("file"), "/t.json");
}

TEST(Config, AFileThatCannotBeReadIsNamedWithItsKey) {
  static const Params params{{.key = "file", .kind = Kind::kPath}};
  const ScratchFile there("there.txt", "text");
  const std::string folder = there.path().substr(0, there.path().rfind('/'));
  const auto text_of = [&](const std::string& name) {
    return Config(std::make_shared<Document>(Document{folder + "/x.json", Json{{"file", name}}}),
                  params)
        .text_of("file");
  };
  EXPECT_EQ(text_of(there.path().substr(folder.size() + 1)), "text");
  EXPECT_EQ(message_of<InputError>([&] { text_of("none.txt"); }),
            folder + "/x.json: /file: " + folder +
                "/none.txt: cannot be read: No such file or directory");
}

TEST(Config, NestedObjectsKnowTheirPointer) {
  const Config c = config_of(
      R"({"inner": {"size": "1 kB"}, "list": [{"size": "2 B"}, {"size": "0 B"}]})", kParams);
  EXPECT_EQ(c.object("inner", kInner).get<Bytes>("size"), Bytes{1'000});
  EXPECT_EQ(c.object("inner", kInner).pointer(), "/inner");
  const std::vector<Config> list = c.objects("list", kInner);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].get<Bytes>("size"), Bytes{2});
  EXPECT_EQ(message_of<InputError>([&] { list[1].get<Bytes>("size"); }),
            "x.json: /list/1/size: must be positive, got \"0 B\"");
  EXPECT_EQ(message_of<InputError>(
                [] { config_of(R"({"list": [{"siz": 1}]})", kParams).objects("list", kInner); }),
            "x.json: /list/0/siz: unknown key (did you mean \"size\"?); known: size");
  EXPECT_EQ(
      message_of<InputError>([] { config_of(R"({"list": {}})", kParams).objects("list", kInner); }),
      "x.json: /list: expected a list, got an object");
  EXPECT_EQ(
      message_of<InputError>([] { config_of(R"({"inner": 1})", kParams).object("inner", kInner); }),
      "x.json: /inner: expected an object, got 1");
}

TEST(Config, ACursorKeepsItsDocumentAlive) {
  const Config inner = config_of(R"({"inner": {"size": "1 B"}})", kParams).object("inner", kInner);
  EXPECT_EQ(inner.get<Bytes>("size"), Bytes{1});
  EXPECT_EQ(inner.file(), "x.json");
}

TEST(Config, FailWithoutAKeyNamesTheObject) {
  const Config c = config_of(R"({"inner": {"size": "1 B"}})", kParams);
  EXPECT_EQ(message_of<InputError>([&] { c.fail("", "odd"); }), "x.json: /: odd");
  EXPECT_EQ(message_of<InputError>([&] { c.object("inner", kInner).fail("", "odd"); }),
            "x.json: /inner: odd");
}

TEST(Config, WithDefaultsFillsInTheOrderOfTheTable) {
  EXPECT_EQ(with_defaults(Json{{"on", true}}, kParams).dump(), R"({"latency":"5 us","on":true})");
}

TEST(Config, ClosestForgivesTwoEdits) {
  const std::vector<std::string> known{"alpha-beta", "constant"};
  EXPECT_EQ(closest("alpha-betta", known), "alpha-beta");  // one letter too many
  EXPECT_EQ(closest("alpa-bta", known), "alpha-beta");     // two letters missing
  EXPECT_EQ(closest("alp-bta", known), "");                // three
  EXPECT_EQ(closest("konstand", known), "constant");       // two replaced
  EXPECT_EQ(closest("", known), "");
  const std::vector<std::string> tie{"ab", "ac"};
  EXPECT_EQ(closest("ad", tie), "ab");  // the first of two equally near words
}

}  // namespace
}  // namespace steptime
