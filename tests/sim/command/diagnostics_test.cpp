// Do diagnostics go where they are asked for, and nowhere else?
#include "sim/command/diagnostics.h"

#include "tests/support/tiny_experiment.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace {

TEST(Diagnostics, AreThoseOfTheLevelAndEndWithTheirScope) {
  std::ostringstream err;
  {
    const Diagnostics diagnostics(err);
    spdlog::info("quiet");
    spdlog::warn("loud");
    Diagnostics::show("info");
    spdlog::debug("quiet");
    spdlog::info("{} messages", 3);
    Diagnostics::show("off");
    spdlog::error("quiet");
  }
  EXPECT_EQ(err.str(), "warning: loud\ninfo: 3 messages\n");
}

TEST(Diagnostics, EveryVerbTakesTheLevel) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  const Outcome quiet = steptime({"run", file});
  EXPECT_EQ(quiet.err, "");
  for (const char* level : {"trace", "debug", "info", "warn", "error", "off"})
    EXPECT_EQ(steptime({"run", file, "--log-level", level}).out, quiet.out) << level;
  EXPECT_EQ(steptime({"sweep", file, "-j", "2", "--log-level", "info"}).err,
            "info: tiny: 1 points, 2 threads\n");
  EXPECT_EQ(steptime({"list", "network", "--log-level=debug"}).exit, 0);
  const Outcome wrong = steptime({"check", file, "--log-level", "loud"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_EQ(wrong.err,
            "steptime: --log-level: unknown \"loud\"; known: trace, debug, info, warn, error, "
            "off\n");
}

TEST(Diagnostics, SayWhatIsReadAndWhichWayARunTakes) {
  const TinyFolder folder;
  const auto expect = [&](const std::string& patch, const std::string& line) {
    const std::string file = folder.experiment(patch);
    const std::string said = steptime({"run", file, "--log-level", "debug"}).err;
    EXPECT_NE(said.find("debug: read " + file + ", "), std::string::npos) << said;
    EXPECT_NE(said.find("debug: " + line + "\n"), std::string::npos) << said;
  };
  // Three tensors, each a message of its own.
  expect("{}", "tiny: 4 workers move in step, closed form, 3 all-reduces a step");
  expect(R"({"strategy": {"embedding": {"type": "funnel"}}})",
         "tiny: played in an engine, 3 all-reduces a step");
  expect(R"({"run": {"variation": {"jitter": 0.1}}})",
         "tiny: played client by client, as workers, servers, updates, streams or the schedule ask "
         "for it");
  expect(R"({"run": {"fidelity": "message"}, "strategy": {"aggregation": {"collective":
             {"type": "ring", "a": null, "b": null}}}})",
         "1000000 B: every rank does the same on equal links, one stands for all");
}

}  // namespace
}  // namespace steptime
