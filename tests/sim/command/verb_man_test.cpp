// Manual pages say what --help says.
#include "sim/command/verbs.h"
#include "tests/support/tiny_experiment.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(VerbMan, APageOfEachVerbAndOneOfTheProgram) {
  const TinyFolder folder;
  EXPECT_EQ(steptime({"man", "-o", folder.path("man1")}).exit, 0);
  const std::string program = folder.read("man1/steptime.1");
  EXPECT_EQ(program, steptime({"man"}).out);
  EXPECT_EQ(program.rfind(".TH STEPTIME 1 ", 0), 0U) << program;
  EXPECT_NE(program.find("\n.SH \"EXIT STATUS\"\n"), std::string::npos);
  for (const Verb& verb : verbs()) {
    const std::string page = folder.read(std::string("man1/steptime-") + verb.name + ".1");
    EXPECT_EQ(page, steptime({"man", verb.name}).out) << verb.name;
    EXPECT_NE(page.find(".B \\-\\-log\\-level arg (=warn)\n"), std::string::npos) << page;
    EXPECT_NE(program.find(std::string(".BR steptime\\-") + verb.name + " (1)"), std::string::npos);
  }
}

TEST(VerbMan, HyphensAreThoseThatAreTyped) {
  const std::string page = steptime({"man", "run"}).out;
  EXPECT_NE(page.find(".SH SYNOPSIS\n.B steptime run\nCONFIG [OPTIONS]\n"), std::string::npos);
  EXPECT_NE(page.find(".B \\-o [ \\-\\-output ] arg\n"), std::string::npos) << page;
  EXPECT_EQ(page.find(" --"), std::string::npos) << page;
}

TEST(VerbMan, RefusesWhatIsNoVerb) {
  EXPECT_EQ(steptime({"man", "rnu"}).err.rfind("steptime: man: VERB: unknown \"rnu\"", 0), 0U);
  EXPECT_EQ(steptime({"man", "run", "-o", "x"}).err,
            "steptime: man: -o: writes all, expected no VERB\n");
}

}  // namespace
}  // namespace steptime
