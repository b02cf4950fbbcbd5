#include "sim/command/companion.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Companion, ThatIsNotThereSaysHowToGetIt) {
  const TinyFolder folder;
  EXPECT_EQ(message_of<MissingError>([&] { become(kMpiProgram, {}, folder.path("")); }),
            "steptime-mpi is not there: it is built where MPI is found; apt-get install "
            "libopenmpi-dev openmpi-bin, and build again");
}

TEST(Companion, GetsTheArguments) {
  const TinyFolder folder;
  std::filesystem::permissions(
      folder.write("steptime-mpi", "#!/bin/sh\necho \"$#: $1, $2\" >\"$2\"\n"),
      std::filesystem::perms::owner_all);
  const std::vector<std::string> args{"fit", folder.path("out")};
  const pid_t child = fork();
  if (child == 0) become(kMpiProgram, args, folder.path(""));
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(folder.read("out"), "2: fit, " + folder.path("out") + "\n");
}

}  // namespace
}  // namespace steptime
