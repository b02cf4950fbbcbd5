#include "tests/support/tiny_experiment.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// The test's program has no companion beside it.
TEST(VerbReplay, WithoutItsProgramEndsWithSixAndOneLine) {
  const Outcome replay = steptime({"replay", "x.json"});
  EXPECT_EQ(replay.exit, 6);
  EXPECT_EQ(replay.out, "");
  EXPECT_EQ(replay.err,
            "steptime: steptime-mpi is not there: it is built where MPI is found; apt-get install "
            "libopenmpi-dev openmpi-bin, and build again\n");
}

}  // namespace
}  // namespace steptime
