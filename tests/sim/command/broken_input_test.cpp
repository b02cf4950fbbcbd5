// What does every broken input give? One line, exit code 2 and nothing else: broken_inputs.json
// holds the inputs and the lines.
#include "sim/config/json.h"
#include "tests/support/tiny_experiment.h"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// `patch` of the tiny experiment or `text` in its place, `trace_patch`, other `files`; the command
/// `args`, where @x stands for file x, by default run @x.json; and the line that it `says`.
struct BrokenInput {
  Json json;
};
void PrintTo(const BrokenInput& input, std::ostream* out) {
  *out << input.json.at("name").get<std::string>();
}

std::vector<BrokenInput> broken_inputs() {
  const std::string file = STEPTIME_SOURCE_DIR "/tests/sim/command/broken_inputs.json";
  std::vector<BrokenInput> all;
  for (const Json& each : parse_json(read_file(file), file))
    all.push_back({each});
  return all;
}

/// `text` without the folder's path, which changes.
std::string in_folder(std::string text, const TinyFolder& folder) {
  const std::string path = folder.path("");
  for (auto at = text.find(path); at != std::string::npos; at = text.find(path))
    text.erase(at, path.size());
  return text;
}

class BrokenInputs : public testing::TestWithParam<BrokenInput> {};

TEST_P(BrokenInputs, AreOneLineAndExit2) {
  const Json& input = GetParam().json;
  const TinyFolder folder;
  if (input.contains("text"))
    folder.write("x.json", input.at("text"));
  else
    folder.experiment(input.value("patch", Json::object()).dump());
  if (input.contains("trace_patch")) folder.patch_trace(input.at("trace_patch").dump());
  const Json files = input.value("files", Json::object());
  for (const auto& [name, text] : files.items())
    folder.write(name, text);
  std::vector<std::string> args = input.value("args", std::vector<std::string>{"run", "@x.json"});
  for (std::string& arg : args) {
    if (arg.starts_with('@')) arg = folder.path(arg.substr(1));
  }
  const Outcome ran = steptime(args);
  EXPECT_EQ(ran.exit, 2);
  EXPECT_EQ(ran.out, "");
  const std::string said = in_folder(ran.err, folder);
  const std::string says = "steptime: " + input.at("says").get<std::string>();
  if (says.ends_with("known: "))  // a list of what is registered comes behind it, which grows
    EXPECT_EQ(said.substr(0, says.size()), says);
  else
    EXPECT_EQ(said, says + "\n");
  if (input.contains("args")) return;
  const Outcome check = steptime({"check", folder.path("x.json")});
  EXPECT_EQ(check.exit, 2);
  EXPECT_EQ(check.out, "");
  EXPECT_EQ(check.err, ran.err);
}

INSTANTIATE_TEST_SUITE_P(All, BrokenInputs, testing::ValuesIn(broken_inputs()),
                         [](const auto& input) {
                           return input.param.json.at("name").template get<std::string>();
                         });

// The lists grow with the catalogues, so only their start is told here.
TEST(BrokenChoice, ListsWhatIsRegistered) {
  const TinyFolder folder;
  const Outcome outcome =
      steptime({"run", folder.experiment(R"({"strategy": {"schedule": {"type": "mg-wbfp"}}})")});
  EXPECT_EQ(outcome.exit, 2);
  const std::string start = "steptime: " + folder.path(
                                               "x.json: /strategy/schedule/type: unknown "
                                               "\"mg-wbfp\" (did you mean \"mg-wfbp\"?); known: ");
  EXPECT_EQ(outcome.err.substr(0, start.size()), start);
  EXPECT_NE(outcome.err.find("mg-wfbp"), std::string::npos);
  EXPECT_EQ(lines_of(outcome.err).size(), 1U);
}

}  // namespace
}  // namespace steptime
