// Examples are listed, written once, and run in any folder.
#include "sim/config/input_files.h"
#include "tests/support/tiny_experiment.h"

#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::filesystem::path kExamples = STEPTIME_SOURCE_DIR "/configs/examples";

std::string name_of(const std::string& line) {
  return line.substr(0, line.find(' '));
}

TEST(VerbInit, ListsEveryExampleWithWhatItShows) {
  const Outcome listed = steptime({"init"});
  EXPECT_EQ(listed.exit, 0);
  std::set<std::string> names;
  for (const std::string& line : lines_of(listed.out)) {
    names.insert(name_of(line));
    EXPECT_GT(line.size(), name_of(line).size() + 20) << line;
    EXPECT_NE(line.back(), '.') << line;  // as of one sentence or of several
  }
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(kExamples))
    files.insert(file.path().stem().string());
  EXPECT_EQ(names, files);
}

TEST(VerbInit, WritesAFileOnce) {
  const TinyFolder folder;
  const std::string path = folder.path("mine.json");
  const Outcome wrote = steptime({"init", "ddp-a100", "-o", path});
  EXPECT_EQ(wrote.exit, 0);
  EXPECT_EQ(wrote.err, "wrote " + path + "; next: steptime run " + path + "\n");
  EXPECT_EQ(folder.read("mine.json"), text_at((kExamples / "ddp-a100.json").string()));
  folder.write("mine.json", "edited");
  const Outcome again = steptime({"init", "ddp-a100", "-o", path});
  EXPECT_EQ(again.exit, 2);
  EXPECT_EQ(again.err,
            "steptime: " + path +
                ": is there already; expected a new file, such as -o my-ddp-a100.json\n");
  EXPECT_EQ(folder.read("mine.json"), "edited");
}

TEST(VerbInit, UnknownNamesAreGuessed) {
  const Outcome unknown = steptime({"init", "dpd-a100"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_EQ(unknown.err.substr(0, 67),
            "steptime: init: NAME: unknown \"dpd-a100\" (did you mean \"ddp-a100\"?)");
  EXPECT_EQ(steptime({"init", "-o", "x.json"}).err,
            "steptime: init: -o: expected NAME before it\n");
}

// None of them names a file by its path, which a copy would not find.
TEST(VerbInit, EveryExampleIsRightAndRunsElsewhere) {
  const TinyFolder folder;
  for (const auto& file : std::filesystem::directory_iterator(kExamples)) {
    const std::string name = file.path().stem().string();
    const std::string path = folder.path(name + ".json");
    ASSERT_EQ(steptime({"init", name, "-o", path}).exit, 0) << name;
    const Outcome checked = steptime({"check", path});
    EXPECT_EQ(checked.exit, 0) << checked.err;
    const Json config = Json::parse(folder.read(name + ".json"));
    EXPECT_EQ(config.at("name"), name);
    EXPECT_GT(config.at("description").get<std::string>().size(), 60u) << name;
  }
}

}  // namespace
}  // namespace steptime
