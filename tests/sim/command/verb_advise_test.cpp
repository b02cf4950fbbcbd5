// The command around advice.
#include "tests/support/tiny_experiment.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(VerbAdvise, SaysWhatIsFasterAsATableOrAsJson) {
  const TinyFolder folder;
  const std::string config = folder.experiment(R"({"sweep": {"/cluster/nodes": [2, 4]}})");
  const Outcome table =
      steptime({"advise", config, "--set", "/strategy/aggregation/collective/a=10 ms"});
  EXPECT_EQ(table.exit, 0) << table.err;
  EXPECT_TRUE(table.out.starts_with("tiny: a step takes 55.004 ms; ")) << table.out;
  const Outcome json = steptime({"advise", config, "--format", "json"});
  EXPECT_EQ(parse_json(json.out, "stdout").at("step_time_s"), 0.044);
}

TEST(VerbAdvise, BadInputIsNamed) {
  const TinyFolder folder;
  EXPECT_EQ(steptime({"advise", folder.experiment(), "--format", "csv"}).err,
            "steptime: --format: unknown \"csv\"; known: table, json\n");
  EXPECT_EQ(steptime({"advise", folder.experiment(R"({"cluster": {"nodes": 0}})")}).exit, 2);
}

}  // namespace
}  // namespace steptime
