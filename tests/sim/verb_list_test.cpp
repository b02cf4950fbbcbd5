// list, check and schema.
#include "sim/schema.h"
#include "tests/support/tiny_experiment.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(VerbList, NamesWithOneLineEach) {
  const Outcome list = steptime({"list", "network"});
  EXPECT_EQ(list.exit, 0);
  EXPECT_EQ(lines_of(list.out).at(0), "network");
  int found = 0;
  for (const std::string& line : lines_of(list.out)) {
    if (line.rfind("  switch ", 0) != 0) continue;
    ++found;
    EXPECT_TRUE(
        line.ends_with(" non-blocking switch: latency + size / bandwidth between any two "
                       "[latency, bandwidth]"))
        << line;
  }
  EXPECT_EQ(found, 1);
}

TEST(VerbList, WithoutAKindListsAll) {
  const Outcome list = steptime({"list"});
  for (const char* kind : {"collective", "importer", "network", "preset", "schedule"}) {
    const std::vector<std::string> lines = lines_of(list.out);
    EXPECT_NE(std::find(lines.begin(), lines.end(), kind), lines.end()) << kind;
    const Outcome one = steptime({"list", kind});
    EXPECT_EQ(one.exit, 0) << kind;
    EXPECT_NE(list.out.find(one.out), std::string::npos) << kind;
  }
}

TEST(VerbList, JsonHasNameAndHelp) {
  const Json all = parse_json(steptime({"list", "--format", "json"}).out, "stdout");
  const Json schedules = parse_json(steptime({"list", "schedule", "--format", "json"}).out, "out");
  EXPECT_EQ(schedules.size(), 1U);
  EXPECT_EQ(schedules.at("schedule"), all.at("schedule"));
  bool found = false;
  for (const Json& entry : all.at("schedule")) {
    EXPECT_FALSE(entry.at("help").get<std::string>().empty()) << entry;
    found = found || entry.at("name") == "wfbp";
  }
  EXPECT_TRUE(found);
}

TEST(VerbList, PresetsHaveTheirDescription) {
  const Outcome list = steptime({"list", "preset"});
  EXPECT_NE(list.out.find("\n  k80-10gbe "), std::string::npos) << list.out;
  EXPECT_NE(list.out.find(" Tesla K80 nodes on 10 Gbit Ethernet"), std::string::npos) << list.out;
}

TEST(VerbList, UnknownKindIsOneLine) {
  const Outcome list = steptime({"list", "scheduler"});
  EXPECT_EQ(list.exit, 2);
  EXPECT_EQ(list.out, "");
  EXPECT_EQ(list.err.rfind("steptime: list: unknown \"scheduler\"; known: ", 0), 0U) << list.err;
  EXPECT_EQ(lines_of(list.err).size(), 1U);
}

TEST(VerbCheck, AcceptsExperimentsAndCountsPoints) {
  const TinyFolder folder;
  const std::string one = folder.experiment();
  EXPECT_EQ(steptime({"check", one}).out, one + ": ok, 1 point\n");
  const std::string many = folder.experiment(R"({"sweep": {"/cluster/nodes": [1, 2, 3]}})");
  const Outcome check = steptime({"check", many, many});
  EXPECT_EQ(check.exit, 0);
  EXPECT_EQ(check.out, many + ": ok, 3 points\n" + many + ": ok, 3 points\n");
  EXPECT_EQ(check.err, "");
}

TEST(VerbCheck, GoesOnAfterABrokenOne) {
  const TinyFolder folder;
  const std::string good = folder.experiment();
  const std::string bad = folder.write("bad.json", "{}");
  const Outcome check = steptime({"check", folder.path("absent.json"), bad, good});
  EXPECT_EQ(check.exit, 2);
  EXPECT_EQ(check.out, good + ": ok, 1 point\n");
  EXPECT_EQ(check.err, "steptime: " + folder.path("absent.json") +
                           ": cannot be read: No such file or directory\nsteptime: " + bad +
                           ": /name: required but missing\n");
}

TEST(VerbCheck, NamesThePointThatFails) {
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({"sweep": {"/cluster/nodes": [1, 2, 0]}})");
  const Outcome check = steptime({"check", file});
  EXPECT_EQ(check.exit, 2);
  EXPECT_EQ(check.err, "steptime: " + file +
                           ": /cluster/nodes: must be at least 1 and at most 10000000, got 0 "
                           "(point 2 of the sweep)\n");
}

TEST(VerbCheck, CanBeInterrupted) {
  const TinyFolder folder;
  const std::atomic<bool> interrupted{true};
  const std::string file =
      folder.experiment(R"({"sweep": {"/run/seed": {"from": 1, "to": 1000, "plus": 1}}})");
  EXPECT_EQ(steptime({"check", file}, &interrupted).exit, 130);
}

TEST(VerbSchema, PrintsTheSchema) {
  const Outcome schema = steptime({"schema"});
  EXPECT_EQ(schema.exit, 0);
  EXPECT_EQ(parse_json(schema.out, "stdout"), experiment_schema());
}

}  // namespace
}  // namespace steptime
