// Completion knows every verb, option and name; completion_test.sh tries it in the shells.
#include "sim/command/verbs.h"
#include "tests/support/tiny_experiment.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(VerbCompletion, NamesVerbsOptionsAndNames) {
  for (const char* shell : {"bash", "zsh"}) {
    const Outcome script = steptime({"completion", shell});
    EXPECT_EQ(script.exit, 0);
    EXPECT_EQ(script.err, "");
    for (const Verb& verb : verbs())
      EXPECT_NE(script.out.find(verb.name), std::string::npos) << verb.name;
    for (const char* word : {"--timeline-window", "-o", "dgx-a100", "kineto"})
      EXPECT_NE(script.out.find(word), std::string::npos) << word;
  }
}

TEST(VerbCompletion, RefusesAnotherShell) {
  const Outcome refused = steptime({"completion", "fish"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_EQ(refused.err,
            "steptime: completion: SHELL: unknown \"fish\" (did you mean \"bash\"?); "
            "known: bash, zsh\n");
}

}  // namespace
}  // namespace steptime
