#include "sim/command/cli.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Output {
  int exit = 0;
  std::string out;
  std::string err;
};

Output steptime(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit = run_command_line(args, {out, err});
  return {exit, out.str(), err.str()};
}

TEST(Report, ShowsTheRoutesOfAPreset) {
  const Output report = steptime({"report", "k80-10gbe", "--topology"});
  EXPECT_EQ(report.exit, 0);
  EXPECT_NE(report.out.find("GB/s (links) from row to column"), std::string::npos);
  EXPECT_NE(report.out.find("gpu0"), std::string::npos);
  EXPECT_EQ(report.err, "");
}

TEST(Report, DrawsANodeForGraphviz) {
  const Output report = steptime({"report", "k80-10gbe", "--topology", "--format", "dot"});
  EXPECT_EQ(report.exit, 0);
  EXPECT_EQ(report.out.substr(0, 15), "graph machine {");
  EXPECT_NE(report.out.find("[label=\"gpu0\", shape=box"), std::string::npos);
}

TEST(Report, DrawsWhatConnectsTheNodes) {
  const Output report =
      steptime({"report", "fat-tree", "--topology", "--format", "dot", "--fabric", "--nodes", "8"});
  EXPECT_EQ(report.exit, 0) << report.err;
  EXPECT_EQ(report.out.substr(0, 14), "graph fabric {");
  EXPECT_NE(report.out.find("node7 -- switch"), std::string::npos);
  const Output many = steptime(
      {"report", "switch", "--topology", "--format", "dot", "--fabric", "--nodes", "1025"});
  EXPECT_EQ(many.exit, 2);
  EXPECT_NE(many.err.find("--fabric draws 1024 nodes at most, got 1025"), std::string::npos);
}

TEST(Report, ShowsTheTreesOfAMachine) {
  const Output report =
      steptime({"report", "p3.16xlarge", "--trees", "--planner", "joint", "--penalty", "1"});
  EXPECT_EQ(report.exit, 2);
  EXPECT_NE(report.err.find("/planner/penalty: unknown key; known: type"), std::string::npos)
      << report.err;
  const Output joint = steptime({"report", "p3.16xlarge", "--trees", "--planner", "joint"});
  EXPECT_EQ(joint.exit, 0) << joint.err;
  EXPECT_NE(joint.out.find("all at once: 1.5 trees per NVLink"), std::string::npos) << joint.out;
  EXPECT_EQ(steptime({"report", "p3.16xlarge"}).err,
            "steptime: report: expected a config, such as x.json, or --topology or --trees "
            "of a machine, got \"p3.16xlarge\"\n");
  EXPECT_EQ(steptime({"report", "p3.16xlarge", "--trees", "--topology"}).err,
            "steptime: report: --topology and --trees are two reports\n");
  EXPECT_EQ(steptime({"report", "p3.16xlarge", "--trees", "-o", "x.html"}).err,
            "steptime: report: --output is for the page about an experiment\n");
}

TEST(Report, RefusesWhatItDoesNotKnow) {
  const Output report = steptime({"report", "k80-10gbe", "--topology", "--format", "png"});
  EXPECT_EQ(report.exit, 2);
  EXPECT_EQ(report.out, "");
  EXPECT_NE(report.err.find("--format: unknown \"png\"; known: table, dot"), std::string::npos);
  EXPECT_EQ(steptime({"report", "nowhere", "--topology"}).exit, 2);
  EXPECT_NE(steptime({"report", "switch", "--topology", "--fabric"}).err.find("needs --format dot"),
            std::string::npos);
  EXPECT_NE(steptime({"report", "switch", "--topology", "--nodes", "-1"})
                .err.find("--nodes: must be at least 1, got -1"),
            std::string::npos);
}

}  // namespace
}  // namespace steptime
