// The command around explanations.
#include "tests/support/tiny_experiment.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(VerbExplain, SaysWhyAsATableOrAsJson) {
  const TinyFolder folder;
  const std::string config = folder.experiment(R"({"sweep": {"/cluster/nodes": [2, 4]}})");
  const Outcome table = steptime({"explain", config, "--set", "/cluster/nodes=8"});
  EXPECT_EQ(table.exit, 0) << table.err;
  EXPECT_TRUE(table.out.starts_with("tiny: a step takes 44.000 ms on 8 workers\n"));
  const Outcome json = steptime({"explain", config, "--format", "json"});
  EXPECT_EQ(parse_json(json.out, "stdout").at("step_time_s"), 0.044);
}

TEST(VerbExplain, TakesAMeasuredTime) {
  const TinyFolder folder;
  const Outcome out = steptime({"explain", folder.experiment(), "--measured", "50 ms"});
  EXPECT_NE(out.out.find("measured: 50.000 ms, +13.6 % of what is predicted"), std::string::npos)
      << out.out << out.err;
  EXPECT_EQ(steptime({"explain", folder.experiment(), "--measured", "50"}).err,
            "steptime: --measured: \"50\" is not a number followed by one of h, min, s, ms, us, "
            "ns, ps\n");
  EXPECT_EQ(steptime({"explain", folder.experiment(), "--measured", "0 s"}).err,
            "steptime: --measured: expected more than 0, got \"0 s\"\n");
}

TEST(VerbExplain, BadInputIsNamed) {
  const TinyFolder folder;
  EXPECT_EQ(steptime({"explain", folder.experiment(), "--format", "csv"}).err,
            "steptime: --format: unknown \"csv\"; known: table, json\n");
  const std::string broken = folder.experiment(R"({"cluster": {"nodes": 0}})");
  EXPECT_EQ(steptime({"explain", broken}).exit, 2);
}

}  // namespace
}  // namespace steptime
