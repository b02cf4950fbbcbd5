// list, check and schema.
#include "sim/experiment/schema.h"
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
  for (const char* kind : {"collective", "importer", "network", "preset", "schedule", "stack"}) {
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

TEST(VerbList, ResultKeysHaveTheirUnit) {
  const Outcome list = steptime({"list", "result"});
  EXPECT_NE(list.out.find(" forward pass [s]\n"), std::string::npos) << list.out;
  const Json json = Json::parse(steptime({"list", "result", "--format", "json"}).out);
  EXPECT_EQ(json.at("result").at(2),
            Json({{"name", "forward_time_s"}, {"help", "forward pass"}, {"unit", "s"}}));
}

/// The names that `list KIND` shows.
std::vector<std::string> listed(const std::string& kind) {
  std::vector<std::string> names;
  const Json list = Json::parse(steptime({"list", kind, "--format", "json"}).out);
  for (const Json& entry : list.at(kind))
    names.push_back(entry.at("name"));
  return names;
}

TEST(VerbList, EveryTraceModelDeviceAndPresetIsTakenByItsName) {
  const TinyFolder folder;
  const auto takes = [&](const Json& patch) {
    const Outcome run = steptime({"run", folder.experiment(patch.dump())});
    EXPECT_EQ(run.exit, 0) << run.err;
  };
  const auto modelled = [](const std::string& model, const std::string& device) {
    return Json{
        {"workload", {{"trace", nullptr}, {"model", model}, {"device", device}, {"batch", 4}}}};
  };
  for (const std::string& name : listed("trace"))
    takes({{"workload", {{"trace", name}}}});
  for (const std::string& name : listed("model"))
    takes(modelled(name, "v100"));
  for (const std::string& name : listed("device"))
    takes(modelled("torch/resnet50", name));
  for (const std::string& name : listed("preset"))
    takes({{"cluster", {{"preset", name}, {"network", nullptr}}}});
}

TEST(VerbList, OptimizersAndPrecisionsAreTakenByTheirNames) {
  const TinyFolder folder;
  const auto takes = [&](const char* key, const std::string& name, const char* device) {
    const Json patch{{"workload",
                      {{"trace", nullptr},
                       {"model", "torch/resnet50"},
                       {"device", device},
                       {"batch", 4},
                       {key, name}}}};
    return steptime({"run", folder.experiment(patch.dump())});
  };
  EXPECT_GE(listed("optimizer").size(), 8U);
  for (const std::string& name : listed("optimizer"))
    EXPECT_EQ(takes("optimizer", name, "v100").exit, 0) << name;
  const std::string list = steptime({"list", "precision"}).out;
  EXPECT_NE(list.find("\n  tf32 "), std::string::npos) << list;
  EXPECT_NE(list.find(" on a100, a100-40gb,"), std::string::npos) << list;
  for (const char* name : {"float32", "tf32", "bfloat16"})
    EXPECT_EQ(takes("precision", name, "h100").exit, 0) << name;
}

TEST(VerbList, UnknownKindIsOneLine) {
  const Outcome list = steptime({"list", "scheduler"});
  EXPECT_EQ(list.exit, 2);
  EXPECT_EQ(list.out, "");
  EXPECT_EQ(list.err.rfind(
                "steptime: list: unknown \"scheduler\" (did you mean \"schedule\"?); known: ", 0),
            0U)
      << list.err;
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

TEST(VerbCheck, LooksAtTheConfigAsItIsSet) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  EXPECT_EQ(
      steptime({"check", file, "--set", "/cluster/nodes=0"}).err,
      "steptime: " + file + ": /cluster/nodes: must be at least 1 and at most 10000000, got 0\n");
  EXPECT_EQ(steptime({"check", file, "--set", "/cluster/nodes=3"}).out, file + ": ok, 1 point\n");
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

TEST(VerbCheck, RefusesTheRunsThatLearnWhichRunRefuses) {
  const TinyFolder folder;
  const std::string learns = R"("convergence": {"problem": {"type": "quadratic", "samples": 64},
      "epochs": 1000, "learning_rate": 0.1, "batch": )";
  const auto both = [&](const std::string& patch) {
    const std::string file = folder.experiment(patch);
    const Outcome run = steptime({"run", file});
    const Outcome check = steptime({"check", file});
    EXPECT_EQ(check.exit, run.exit);
    EXPECT_EQ(check.err, run.err);
    return check.err;
  };
  EXPECT_EQ(both(R"({"run": {)" + learns + "17}}}"),
            "steptime: " + folder.path("x.json") +
                ": /run/convergence/batch: 17 samples per worker and step, but 64 samples for 4 "
                "workers are 16 each\n");
  // 4 workers at message fidelity on a cluster whose nodes have no NIC.
  EXPECT_EQ(both(R"({"run": {"fidelity": "message", )" + learns + R"(2}},
                     "cluster": {"node": {"vertices": [{"name": "g", "kind": "gpu"}], "links": []}},
                     "strategy": {"aggregation": {"collective": {"type": "ring", "a": null,
                                                                 "b": null}}}})"),
            "steptime: " + folder.path("x.json") +
                ": /cluster/node: several nodes, but the node has no vertex of kind \"nic\"\n");
  EXPECT_EQ(steptime({"check", folder.experiment(R"({"run": {)" + learns + "16}}}")}).exit, 0);
}

TEST(VerbCheck, LooksAtThePointsAndClaimsOfRunsThatLearn) {
  const TinyFolder folder;
  const std::string learns = R"("run": {"convergence": {"problem": {"type": "quadratic",
      "samples": 64}, "epochs": 1000, "learning_rate": 0.1, "batch": 2}})";
  const std::string swept =
      folder.experiment("{" + learns + R"(, "sweep": {"/cluster/nodes": [4, 64]}})");
  EXPECT_EQ(steptime({"check", swept}).err,
            "steptime: " + swept +
                ": /run/convergence/batch: 2 samples per worker and step, but 64 samples for 64 "
                "workers are 1 each (point 1 of the sweep)\n");
  const auto claimed = [&](const char* measure) {
    return steptime({"check", folder.experiment("{" + learns + R"(, "claims": {"paper": "p",
        "source": "s", "inputs": "i", "figures": [{"id": "A", "quantity": "q", "published": 1,
        "where": "w", "measure": )" + measure + "}]}}")});
  };
  EXPECT_EQ(claimed(R"({"value": "step_time_s"})").exit, 0);
  EXPECT_EQ(claimed(R"({"value": "step_time_s", "set": {"/cluster/nodes": 0}})").err,
            "steptime: " + folder.path("x.json") +
                ": /claims/figures/0/measure: with its values set, " + folder.path("x.json") +
                ": /cluster/nodes: must be at least 1 and at most 10000000, got 0\n");
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
