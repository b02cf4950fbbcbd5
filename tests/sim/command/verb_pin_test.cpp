// A pin, compared with results of the same and of another experiment.
#include "tests/support/tiny_experiment.h"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(VerbPin, AComparisonPassesOnTheSameAndFailsOnASlowerStep) {
  const TinyFolder folder;
  const std::string config = folder.experiment(R"({"sweep": {"/cluster/nodes": [2, 4]}})");
  const std::string pins = folder.path("pins");
  const Outcome pinned = steptime({"pin", config, "-o", pins});
  EXPECT_EQ(pinned.exit, 0);
  EXPECT_EQ(pinned.err, "wrote " + pins + "/tiny.json\n");
  EXPECT_EQ(steptime({"pin", config, "-o", folder.path("now")}).exit, 0);
  EXPECT_EQ(steptime({"compare", pins, folder.path("now")}).exit, 0);
  EXPECT_EQ(folder.read("pins/tiny.json"), folder.read("now/tiny.json"));

  // 44 ms with a = 1 ms; the last message has all of 1 ms more exposed: 45 ms.
  steptime({"pin", config, "-o", folder.path("slow"), "--set",
            "/strategy/aggregation/collective/a=2 ms"});
  const Outcome slower = steptime({"compare", pins, folder.path("slow"), "--key", "step_time_s"});
  EXPECT_EQ(slower.exit, 1);
  EXPECT_EQ(lines_of(slower.out).at(3),
            "tiny.json nodes=4  step_time_s   0.044  0.045  +2.27 %  WORSE");
}

TEST(VerbPin, IsNotWrittenWhenAPointFailsOrIsInterrupted) {
  const TinyFolder folder;
  const std::string config = folder.experiment(R"({"sweep": {"/cluster/nodes": [2, 0]}})");
  EXPECT_EQ(steptime({"pin", config, "-o", folder.path("pins")}).exit, 4);
  EXPECT_FALSE(folder.has("pins/tiny.json"));
  const std::atomic<bool> interrupted{true};
  EXPECT_EQ(steptime({"pin", folder.experiment(), "-o", folder.path("pins")}, &interrupted).exit,
            130);
  EXPECT_FALSE(folder.has("pins/tiny.json"));
}

TEST(VerbPin, ASetOfWhatTheSweepSetsIsRefused) {
  const TinyFolder folder;
  const std::string config = folder.experiment(R"({"sweep": {"/cluster/nodes": [2, 4]}})");
  EXPECT_EQ(steptime({"pin", config, "--set", "/cluster/nodes=8"}).err,
            "steptime: --set /cluster/nodes=8: the sweep sets it; set /sweep/... instead\n");
}

TEST(VerbPin, NeedsExperimentsOfDifferentNames) {
  const TinyFolder folder;
  const std::string config = folder.experiment();
  EXPECT_EQ(steptime({"pin"}).err, "steptime: pin: expected CONFIG; see steptime pin --help\n");
  EXPECT_EQ(steptime({"pin", config, config, "-o", folder.path("pins")}).err,
            "steptime: " + config + ": /name: \"tiny\" is another one's, too\n");
}

}  // namespace
}  // namespace steptime
