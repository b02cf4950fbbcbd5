// The command line as a whole: verbs, usage errors, exit codes.
#include "sim/command/cli.h"

#include "sim/command/verbs.h"
#include "sim/command/version.h"
#include "tests/support/tiny_experiment.h"

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(CommandLine, HelpNamesEveryVerb) {
  const Outcome help = steptime({"--help"});
  EXPECT_EQ(help.exit, 0);
  EXPECT_EQ(help.err, "");
  for (const Verb& verb : verbs()) {
    EXPECT_NE(help.out.find("\n  " + std::string(verb.name)), std::string::npos) << verb.name;
    EXPECT_NE(help.out.find(verb.help), std::string::npos) << verb.name;
  }
  EXPECT_EQ(steptime({"-h"}).out, help.out);
  EXPECT_EQ(steptime({"help"}).out, help.out);
}

TEST(CommandLine, VerbsHaveDifferentNamesAndDescriptions) {
  std::set<std::string> names, helps;
  for (const Verb& verb : verbs()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    EXPECT_TRUE(helps.insert(verb.help).second) << verb.name;
  }
}

TEST(CommandLine, EveryVerbHasHelp) {
  for (const Verb& verb : verbs()) {
    for (const char* option : {"--help", "-h"}) {
      const Outcome help = steptime({verb.name, option});
      EXPECT_EQ(help.exit, 0) << verb.name;
      EXPECT_EQ(help.err, "") << verb.name;
      EXPECT_EQ(help.out.rfind("usage: steptime " + std::string(verb.name) + " ", 0), 0U)
          << help.out;
      EXPECT_NE(help.out.find(verb.help), std::string::npos) << verb.name;
    }
  }
}

TEST(CommandLine, Version) {
  EXPECT_EQ(steptime({"--version"}).out, "steptime " + version_with_commit() + "\n");
}

struct UsageCase {
  const char* name;
  std::vector<std::string> args;
  const char* message;
};
void PrintTo(const UsageCase& c, std::ostream* out) {
  *out << c.name;
}
class Usage : public testing::TestWithParam<UsageCase> {};

TEST_P(Usage, IsOneLineAndExit2) {
  const Outcome outcome = steptime(GetParam().args);
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, std::string("steptime: ") + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, Usage,
    testing::Values(
        UsageCase{"NoVerb", {}, "expected a verb; see steptime --help"},
        UsageCase{"UnknownVerb", {"fly"}, "unknown verb \"fly\"; see steptime --help"},
        UsageCase{"VerbWithATypo",
                  {"rnu", "x.json"},
                  "unknown verb \"rnu\" (did you mean \"run\"?); see steptime --help"},
        UsageCase{
            "VerbOfOddBytes", {"a\n\x01"}, R"(unknown verb "a\n\u0001"; see steptime --help)"},
        UsageCase{"NoConfig", {"run"}, "run: expected CONFIG; see steptime run --help"},
        UsageCase{"TwoConfigs",
                  {"run", "x.json", "y.json"},
                  "run: too many positional options have been specified on the command "
                  "line; see steptime run --help"},
        UsageCase{"UnknownOption",
                  {"run", "--bogus"},
                  "run: unrecognised option '--bogus'; see steptime run --help"},
        UsageCase{"AbbreviatedOption",
                  {"run", "x.json", "--form", "json"},
                  "run: unrecognised option '--form' (did you mean --format?); see "
                  "steptime run --help"},
        UsageCase{"OptionWithoutValue",
                  {"run", "x.json", "--format"},
                  "run: the required argument for option '--format' is missing; see "
                  "steptime run --help"},
        UsageCase{"OptionTwice",
                  {"run", "x.json", "--seed", "1", "--seed", "2"},
                  "run: option '--seed' cannot be specified more than once; see steptime "
                  "run --help"},
        UsageCase{"SeedIsNoNumber",
                  {"run", "x.json", "--seed", "abc"},
                  "run: the argument ('abc') for option '--seed' is invalid; see steptime "
                  "run --help"},
        UsageCase{"SeedIsTooLarge",
                  {"run", "x.json", "--seed", "99999999999999999999"},
                  "run: the argument ('99999999999999999999') for option '--seed' is "
                  "invalid; see steptime run --help"},
        UsageCase{"JobsIsNoNumber",
                  {"sweep", "x.json", "-j", "all"},
                  "sweep: the argument ('all') for option '--jobs' is invalid; see "
                  "steptime sweep --help"},
        UsageCase{
            "NegativeJobs", {"sweep", "x.json", "--jobs=-1"}, "--jobs: expected 0 to 4096, got -1"},
        UsageCase{"TooManyJobs",
                  {"sweep", "x.json", "-j", "4097"},
                  "--jobs: expected 0 to 4096, got 4097"},
        UsageCase{"SweepFormat",
                  {"sweep", "x.json", "--format", "xml"},
                  "--format: unknown \"xml\"; known: table, json, jsonl, csv"},
        UsageCase{"NothingToCheck", {"check"}, "check: expected CONFIG; see steptime check --help"},
        UsageCase{"SchemaOfSomething",
                  {"schema", "x"},
                  "schema: too many positional options have been specified on the command "
                  "line; see steptime schema --help"},
        UsageCase{"ListFormat",
                  {"list", "--format", "csv"},
                  "--format: unknown \"csv\"; known: table, json"},
        UsageCase{"ReproduceFormat",
                  {"reproduce", "--format", "xml"},
                  "--format: unknown \"xml\"; known: table, json, jsonl, csv, markdown"},
        UsageCase{"AbsentConfig",
                  {"run", "/nonexistent/x.json"},
                  "/nonexistent/x.json: cannot be read: No such file or directory"},
        UsageCase{"FolderAsConfig", {"run", "/"}, "/: is a directory, expected a file"},
        UsageCase{"ConfigNameOfOddBytes",
                  {"run", "/nonexistent\n/x.json"},
                  "/nonexistent?/x.json: cannot be read: No such file or directory"}),
    [](const auto& broken) { return std::string(broken.param.name); });

TEST(CommandLine, ExitCodes) {
  const TinyFolder folder;
  folder.write("table.csv", "bytes,time_us\n1000,1000\n100000,2000\n");
  const std::string config = folder.experiment(
      R"({"strategy": {"aggregation": {"collective": {"type": "table", "file": "table.csv",
          "a": null, "b": null}}}, "sweep": {"/cluster/nodes": [2, 4]}})");
  const std::atomic<bool> interrupted{true};
  EXPECT_EQ(steptime({"run", config}).exit, 0);
  EXPECT_EQ(steptime({"run", config, "--strict"}).exit, 5);  // fc.w and conv exceed 100 kB
  EXPECT_EQ(steptime({"sweep", config, "--strict"}).exit, 5);
  EXPECT_EQ(steptime({"sweep", config, "--strict", "--set", "/sweep/~1cluster~1nodes=[4, 0]"}).exit,
            4);
  EXPECT_EQ(steptime({"sweep", config}, &interrupted).exit, 130);
  EXPECT_EQ(steptime({"run", config, "--set", "/cluster/nodes=0"}).exit, 2);
}

TEST(CommandLine, SaysWhenTheOutputIsLost) {
  const TinyFolder folder;
  std::ostream closed(nullptr);
  std::ostringstream err;
  const std::vector<std::string> args{"run", folder.experiment()};
  EXPECT_EQ(run_command_line(args, {.out = closed, .err = err}), 2);
  EXPECT_EQ(err.str(), "steptime: the output cannot be written\n");
}

TEST(CommandLine, DiesQuietlyWhenNobodyReadsItsOutput) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  std::ostream broken(nullptr);
  const std::atomic<bool> closed{true};
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"run", file},
                                             {"run", folder.path("absent.json")},
                                             {"sweep", file, "--format", "csv"}}) {
    std::ostringstream err;
    EXPECT_EQ(run_command_line(
                  args, {.out = broken, .err = err, .interrupted = &closed, .closed = &closed}),
              141)
        << args[0];
    EXPECT_EQ(err.str(), "") << args[0];
  }
}

TEST(CommandLine, AnEmptyValueIsNone) {
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({"cluster": {"nodes": 1}})");
  EXPECT_EQ(steptime({"run", file, "--timeline", ""}).err,
            "steptime: --timeline: expected a value, got an empty one\n");
  EXPECT_EQ(steptime({"run", file, "-o", ""}).err,
            "steptime: --output: expected a value, got an empty one\n");
  EXPECT_EQ(steptime({"sweep", file, "-o", ""}).exit, 2);
  EXPECT_EQ(steptime({"reproduce", "--from", ""}).exit, 2);
  EXPECT_EQ(steptime({"run", file, "--strict"}).exit, 0);  // a switch has none
}

TEST(CommandLine, TextThatIsNotUnicodeIsTheUsersFault) {
  // "\xff" is no UTF-8, so no JSON can hold it.
  const TinyFolder folder;
  const Outcome outcome =
      steptime({"run", folder.experiment(), "--set", "/name=\xff", "--format", "json"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "steptime: --set /name=?: expected UTF-8 text\n");
}

}  // namespace
}  // namespace steptime
