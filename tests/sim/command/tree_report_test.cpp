#include "sim/command/tree_report.h"

#include "sim/config/json.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/presets.h"
#include "tests/support/trees.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(TreeReport, ShowsTheCopiesOfEachTree) {
  // Weight 3 on three copies in a row from root 1's point of view: 1 - 2 and 0 - 3 have two
  // NVLinks, 0 - 1 and 2 - 3 as drawn in the known answers of MXNet for the first four GPUs of a
  // p3.
  const std::string report =
      tree_report(preset_cluster("p3.16xlarge"), {.gpus = "0,1,2,3"}, "table");
  EXPECT_EQ(report,
            "root  weight  copies of a reduction, level by level; a broadcast is the mirror\n"
            "0     8       3>0 2>1 | 1>0\n"
            "1     8       0>1 3>2 | 2>1\n"
            "2     7       0>2 1>3 | 3>2\n"
            "3     9       0>3 1>2 | 2>3\n"
            "\n"
            "all at once: 1 trees per NVLink in the busiest direction\n");
}

TEST(TreeReport, GivesMxnetsArraysAsJson) {
  // The known answers: p3_gpus_0_1_6_7_disconnected.
  const Cluster p3 = preset_cluster("p3.16xlarge");
  const Json report = Json::parse(tree_report(p3, {.gpus = "0,1,6,7"}, "json"));
  EXPECT_EQ(report.at("gpus"), (Json{0, 1, 6, 7}));
  int found = 0;
  for (const Json& known : tree_cases("mxnet_topology_cases", "p3_and_dgx1")) {
    if (known.at("name") != "p3_gpus_0_1_6_7_disconnected") continue;
    ++found;
    for (std::size_t i = 0; i < 4; ++i) {
      const Json& tree = report.at("trees")[i];
      EXPECT_EQ(tree.at("topology"), known.at("trees")[i].at("topology"));
      EXPECT_EQ(tree.at("scan"), known.at("trees")[i].at("scan"));
      EXPECT_EQ(tree.at("weight"), known.at("trees")[i].at("weight_on_original_W"));
    }
  }
  EXPECT_EQ(found, 1);
}

TEST(TreeReport, SaysWhatGoesOverPcie) {
  const std::string report = tree_report(preset_cluster("minsky"), {}, "table");
  EXPECT_NE(report.find("copies between some GPUs go over PCIe\n"), std::string::npos);
}

TEST(TreeReport, TakesPlannerPenaltyAndDetection) {
  const Cluster p3 = preset_cluster("p3.16xlarge");
  const auto weight = [&](const TreeQuestion& question, std::size_t root) {
    return Json::parse(tree_report(p3, question, "json")).at("trees")[root].at("weight");
  };
  EXPECT_EQ(weight({}, 5), 15);
  EXPECT_EQ(weight({.penalty = 1}, 5), 19);
  EXPECT_EQ(weight({.planner = "optimal"}, 5), 20);
  EXPECT_EQ(weight({.detection = "cuda-9.2-repaired"}, 5), 14);  // seven single links
}

TEST(TreeReport, RefusesWhatItDoesNotKnow) {
  const Cluster p3 = preset_cluster("p3.16xlarge");
  const auto error = [&](const TreeQuestion& question, const std::string& format = "table") {
    return message_of<InputError>([&] { tree_report(p3, question, format); });
  };
  EXPECT_EQ(error({}, "dot"), "--format: unknown \"dot\"; known with --trees: table, json");
  for (const char* gpus : {"0,8", "0,0", "0,", ",1", "0 1", "a"}) {
    EXPECT_EQ(error({.gpus = gpus}),
              "--gpus: expected different numbers from 0 to 7 with commas between them, got \"" +
                  std::string(gpus) + "\"");
  }
  EXPECT_EQ(error({.gpus = "3"}), "report: --trees need 2 to 16 GPUs of a node, got 1");
  EXPECT_TRUE(
      error({.planner = "prim"}).starts_with("report: /planner/type: unknown \"prim\"; known: "));
  EXPECT_EQ(error({.detection = "cuda-10"}),
            "--detection: unknown \"cuda-10\"; known: exact, cuda-9.2, cuda-9.2-repaired");
}

}  // namespace
}  // namespace steptime
