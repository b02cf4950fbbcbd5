// The command around the importers; what each of them reads is tested with it.
#include "sim/workload/workload.h"
#include "tests/support/tiny_experiment.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kProfile =
    "node,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes\n"
    "1,Linear(),10,20,0,4000\n";

/// "import pipedream <file> --model m ..." with more arguments behind.
std::vector<std::string> import_args(const std::string& file, std::vector<std::string> more = {}) {
  std::vector<std::string> args{"import",   "pipedream", file,         "--model",   "m",
                                "--device", "d",         "--batch",    "64",        "--source",
                                "a book",   "--date",    "2024-02-01", "--licence", "MIT"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(VerbImport, PrintsATrace) {
  const TinyFolder folder;
  const Outcome import = steptime(import_args(folder.write("p.csv", kProfile)));
  ASSERT_EQ(import.exit, 0) << import.err;
  EXPECT_EQ(import.err, "");
  const Trace trace = parse_trace(import.out, "stdout");
  EXPECT_EQ(trace.model, "m");
  EXPECT_EQ(trace.device, "d");
  EXPECT_EQ(trace.batch, 64);
  EXPECT_EQ(trace.provenance.at("source"), "a book");
  EXPECT_EQ(trace.provenance.at("date"), "2024-02-01");
  EXPECT_EQ(trace.provenance.at("licence"), "MIT");
  EXPECT_EQ(trace.forward(), std::chrono::milliseconds(10));
  EXPECT_EQ(trace.backward(), std::chrono::milliseconds(20));
  EXPECT_EQ(trace.params(), 1000);  // 4000 B / 4
}

TEST(VerbImport, KeepsTheNote) {
  const TinyFolder folder;
  const Outcome import =
      steptime(import_args(folder.write("p.csv", kProfile), {"--note", "By hand."}));
  const Trace trace = parse_trace(import.out, "stdout");
  EXPECT_EQ(trace.provenance.at("note").get<std::string>().rfind("By hand. ", 0), 0U);
}

TEST(VerbImport, WritesAFileThatRuns) {
  const TinyFolder folder;
  std::filesystem::create_directory(folder.path("traces"));
  const Outcome import = steptime(
      import_args(folder.write("p.csv", kProfile), {"-o", folder.path("traces/imported.json")}));
  EXPECT_EQ(import.exit, 0);
  EXPECT_EQ(import.out, "");
  EXPECT_EQ(import.err, "wrote " + folder.path("traces/imported.json") + "\n");
  const Outcome run =
      steptime({"run", folder.experiment(R"({"workload": {"trace": "traces/imported.json"}})"),
                "--format", "json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  // 10 + 20 ms, then 1 ms + 4000 B * 1 ns
  EXPECT_EQ(Json::parse(run.out).at("step_time_s"), 0.031004);
}

TEST(VerbImport, ABrokenProfileWritesNothing) {
  const TinyFolder folder;
  const std::string file = folder.write("p.csv", "nonsense\n");
  const Outcome import = steptime(import_args(file, {"-o", folder.path("t.json")}));
  EXPECT_EQ(import.exit, 2);
  EXPECT_EQ(import.out, "");
  EXPECT_EQ(import.err, "steptime: " + file +
                            ": line 1: expected \"nodeN -- LAYER -- forward_compute_time=...\", "
                            "got \"nonsense\"\n");
  EXPECT_FALSE(folder.has("t.json"));
}

TEST(VerbImport, NeedsAllThatTheProfileDoesNotSay) {
  const TinyFolder folder;
  const std::string file = folder.write("p.csv", kProfile);
  for (const char* missing : {"--model", "--device", "--batch", "--date", "--licence"}) {
    std::vector<std::string> args = import_args(file);
    const auto at = std::find(args.begin(), args.end(), missing);
    args.erase(at, at + 2);
    const Outcome import = steptime(args);
    EXPECT_EQ(import.exit, 2);
    EXPECT_EQ(import.err, "steptime: import: the option '" + std::string(missing) +
                              "' is required but missing; see steptime import --help\n");
  }
}

TEST(VerbImport, OnesOwnProfileNeedsNoSource) {
  const TinyFolder folder;
  const std::string file = folder.write("p.csv", kProfile);
  const Outcome import = steptime({"import", "pipedream", file, "--model", "m", "--device", "d",
                                   "--batch", "64", "-o", folder.path("t.json")});
  EXPECT_EQ(import.exit, 0) << import.err;
  const Json provenance = Json::parse(folder.read("t.json")).at("provenance");
  EXPECT_EQ(provenance.at("source"), "own measurement");
  EXPECT_EQ(provenance.at("date"), "not stated");
  EXPECT_EQ(provenance.at("licence"), "not stated");
}

TEST(VerbImport, HelpNamesItsFormats) {
  const Outcome help = steptime({"import", "--help"});
  EXPECT_EQ(help.exit, 0);
  for (const char* format : {"kineto", "chakra", "nccl-tests", "caffe-time", "pipedream"})
    EXPECT_NE(help.out.find(std::string("\n  ") + format), std::string::npos) << format;
}

struct ImportCase {
  const char* name;
  std::vector<std::string> args;
  const char* message;
};
void PrintTo(const ImportCase& c, std::ostream* out) {
  *out << c.name;
}
class BrokenImport : public testing::TestWithParam<ImportCase> {};

TEST_P(BrokenImport, IsOneLineAndExit2) {
  const TinyFolder folder;
  const Outcome import = steptime(import_args(folder.write("p.csv", kProfile), GetParam().args));
  EXPECT_EQ(import.exit, 2);
  EXPECT_EQ(import.out, "");
  EXPECT_EQ(import.err, std::string("steptime: ") + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, BrokenImport,
    testing::Values(
        ImportCase{"SetWithoutValue", {"--set", "padded"}, "--set padded: expected key=value"},
        ImportCase{"SetOfAnotherFormat",
                   {"--set", "padded=true"},
                   "--set padded: unknown key; pipedream has no parameters"},
        ImportCase{
            "NoteThatIsNoUnicode", {"--note", "\xff"}, "--note: expected UTF-8 text, got \"?\""}),
    [](const auto& broken) { return std::string(broken.param.name); });

TEST(VerbImport, TheDateIsADayOfTheCalendar) {
  const TinyFolder folder;
  std::vector<std::string> args = import_args(folder.write("p.csv", kProfile));
  const auto date = std::find(args.begin(), args.end(), "--date") + 1;
  for (const char* wrong : {"2026-02-31", "2023-02-29", "2026-13-01", "2026-1-31", "2026", "today",
                            "2026-01-31x", "+026-01-31", "2026-01- 1"}) {
    *date = wrong;
    EXPECT_EQ(steptime(args).err, "steptime: --date: expected a day such as 2026-01-31, got \"" +
                                      std::string(wrong) + "\"\n");
  }
  *date = "2024-02-29";
  EXPECT_EQ(steptime(args).exit, 0);
}

TEST(VerbImport, RefusesABatchThatIsNone) {
  const TinyFolder folder;
  std::vector<std::string> args = import_args(folder.write("p.csv", kProfile));
  *(std::find(args.begin(), args.end(), "--batch") + 1) = "0";
  EXPECT_EQ(steptime(args).err, "steptime: --batch: must be positive, got 0\n");
  *(std::find(args.begin(), args.end(), "--batch") + 1) = "2000000000";
  const Outcome import = steptime(args);
  EXPECT_EQ(import.exit, 2);
  EXPECT_EQ(lines_of(import.err).size(), 1U);
}

/// A number is what steps are asked for by, and a text of its format.
TEST(VerbImport, AStepIsANumber) {
  const std::string file = STEPTIME_TESTS_DIR "/data/imports/kineto_resnet50_1xV100.json.gz";
  const auto error = [&](const std::string& steps) {
    return steptime({"import", "kineto", file, "--model", "m", "--device", "d", "--batch", "1",
                     "--set", "steps=" + steps})
        .err;
  };
  const std::string far = error("99999");
  EXPECT_TRUE(far.starts_with("steptime: " + file + ": --set steps: expected some of ")) << far;
  EXPECT_TRUE(far.ends_with(", got \"99999\"\n")) << far;
  EXPECT_EQ(error(""),
            "steptime: --set steps: expected numbers of steps as 7, 5-8 or 5-6,9, got "
            "\"\"\n");
}

TEST(VerbImport, UnknownFormatListsTheKnownOnes) {
  const TinyFolder folder;
  std::vector<std::string> args = import_args(folder.write("p.csv", kProfile));
  args[1] = "kineto2";
  const Outcome import = steptime(args);
  EXPECT_EQ(import.exit, 2);
  EXPECT_EQ(import.err.rfind("steptime: import: format: unknown \"kineto2\" (did you mean "
                             "\"kineto\"?); known: ",
                             0),
            0U)
      << import.err;
  EXPECT_NE(import.err.find("pipedream"), std::string::npos);
  EXPECT_EQ(lines_of(import.err).size(), 1U);
}

TEST(VerbImport, ABenchmarkBecomesATableThatACollectiveTakes) {
  const TinyFolder folder;
  const std::string file = folder.write("nccl.csv", "bytes,time_us\n1000,2\n8000,9\n");
  const Outcome import =
      steptime({"import", "nccl-tests", file, "--device", "d", "--source", "s", "--date",
                "2024-02-01", "--licence", "none", "-o", folder.path("table.csv")});
  ASSERT_EQ(import.exit, 0) << import.err;
  EXPECT_EQ(folder.read("table.csv"),
            "# source: s\n# date: 2024-02-01\n# licence: none\n# device: d\n"
            "bytes,time_us\n1000,2\n8000,9\n");
  const Outcome collective = steptime(
      {"collective",
       folder.experiment(
           R"({"strategy": {"aggregation": {"collective": {"type": "table", "file": "table.csv",
                                                             "a": null, "b": null}}}})"),
       "-b", "8000", "-e", "8000", "--format", "json"});
  ASSERT_EQ(collective.exit, 0) << collective.err;
  EXPECT_EQ(Json::parse(collective.out)[0].at("time_us"), 9);
}

TEST(VerbImport, SaysWhatATraceLacksAndARunNamesItsDomain) {
  const TinyFolder folder;
  std::vector<std::string> args = import_args(
      STEPTIME_TESTS_DIR "/data/imports/chakra_resnet50.et.gz", {"-o", folder.path("trace.json")});
  args[1] = "chakra";
  // One that import has not written is never replaced.
  EXPECT_EQ(steptime(args).err, "steptime: " + folder.path("trace.json") +
                                    ": expected no file yet, or a trace of steptime; another file "
                                    "is not written over\n");
  std::filesystem::remove(folder.path("trace.json"));
  const Outcome import = steptime(args);
  ASSERT_EQ(import.exit, 0) << import.err;
  EXPECT_NE(import.err.find("note: 157 device nodes have no runtime.\n"), std::string::npos);
  const Outcome run = steptime({"run", folder.experiment("{}"), "--format", "json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const std::string domain = Json::parse(run.out).at("domain").dump();
  EXPECT_NE(
      domain.find("imported device times: 5.302 ms of copies and other work are left out; one "
                  "layer, so that no gradient is ready before the end"),
      std::string::npos)
      << domain;
}

TEST(VerbImport, OnlyTracesOfRanksMayBeMany) {
  const TinyFolder folder;
  const std::string file = folder.write("p.csv", kProfile);
  EXPECT_EQ(steptime(import_args(file, {file})).err,
            "steptime: import: expected one file, got 1 more, \"" + file + "\" the first\n");
}

TEST(VerbImport, AllToAllIsSimulatedOrRefusedInOneLine) {
  const TinyFolder folder;
  const Outcome outcome = steptime(
      {"collective", folder.experiment("{}"), "--collective", "all-to-all", "-b", "8", "-e", "8"});
  if (outcome.exit == 0) return;
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(lines_of(outcome.err).size(), 1U);
}

TEST(VerbImport, AbsentProfile) {
  const TinyFolder folder;
  EXPECT_EQ(
      steptime(import_args(folder.path("absent.csv"))).err,
      "steptime: " + folder.path("absent.csv") + ": cannot be read: No such file or directory\n");
}

}  // namespace
}  // namespace steptime
