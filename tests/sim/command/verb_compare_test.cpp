// The command around comparisons: what it reads, and when it fails a build.
#include "tests/support/tiny_experiment.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Files a.json with a step of 1 s and b.json with one of `step`.
struct TwoResults {
  explicit TwoResults(const std::string& step)
      : a(folder.write("a.json", R"({"format_version":1,"step_time_s": 1})")),
        b(folder.write("b.json", R"({"format_version":1,"step_time_s": )" + step + "}")) {}
  Outcome compare(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"compare", a, b});
    return steptime(more);
  }
  TinyFolder folder;
  std::string a;
  std::string b;
};

TEST(VerbCompare, ARegressionExits1) {
  EXPECT_EQ(TwoResults("1.01").compare().exit, 1);
  EXPECT_EQ(TwoResults("1").compare().exit, 0);
  EXPECT_EQ(TwoResults("0.5").compare().exit, 0);
  EXPECT_EQ(TwoResults("0.5").compare({"--any"}).exit, 1);
  EXPECT_EQ(TwoResults("1.01").compare({"--tolerance", "1.1"}).exit, 0);
  EXPECT_EQ(TwoResults("1.01").compare({"--tolerance", "step_time_s=1.1%"}).exit, 0);
  EXPECT_EQ(TwoResults("1.01").compare({"--tolerance", "0", "--key", "speedup"}).exit, 2);
}

TEST(VerbCompare, SaysWhatItCompared) {
  EXPECT_EQ(TwoResults("1").compare().out,
            "1 figures of 1 results compared: 0 worse, 0 better, 0 changed\n");
  EXPECT_TRUE(TwoResults("2").compare({"--format", "junit"}).out.starts_with("<?xml "));
  EXPECT_TRUE(TwoResults("2").compare({"--format", "markdown"}).out.starts_with("| result |"));
  EXPECT_EQ(parse_json(TwoResults("2").compare({"--format", "json"}).out, "stdout").at("worse"), 1);
}

TEST(VerbCompare, BadOptionsAreNamed) {
  const TwoResults two("1");
  EXPECT_EQ(two.compare({"--tolerance", "x"}).err,
            "steptime: --tolerance x: expected per cent such as 1 or KEY=0.5, got \"x\"\n");
  EXPECT_EQ(two.compare({"--tolerance", "speedup=-1"}).exit, 2);
  EXPECT_EQ(
      two.compare({"--tolerance", "speed=1"}).err,
      "steptime: \"speed\": expected \"domain\" or a figure that is a number, as steptime list "
      "result has them\n");
  EXPECT_EQ(two.compare({"--format", "xml"}).err,
            "steptime: --format: unknown \"xml\"; known: table, json, markdown, junit\n");
  // Of a file and of a folder, on either side.
  const std::string absent = two.folder.path("absent.json");
  const std::string text = "steptime: " + absent + ": cannot be read: No such file or directory\n";
  for (const std::string& there : {two.a, two.folder.path("")}) {
    EXPECT_EQ(steptime({"compare", there, absent}).err, text);
    EXPECT_EQ(steptime({"compare", absent, there}).err, text);
  }
  EXPECT_EQ(
      steptime({"compare", two.a, two.folder.path("")}).err,
      "steptime: " + two.a + ", " + two.folder.path("") + ": expected two files or two folders\n");
}

}  // namespace
}  // namespace steptime
