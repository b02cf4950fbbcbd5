#include "sim/sweeps/job.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// 103 points in 8 tasks: seven have 13, one has 12.
const SweepJob kJob{.name = "My Sweep",
                    .points = 103,
                    .tasks = 8,
                    .threads = 2,
                    .folder = "results",
                    .args = {"my config.json", "--set", "/run/name='x'"}};

TEST(SweepJob, Slurm) {
  const std::string arguments = R"('my config.json' --set '/run/name='\''x'\''' -o results)";
  EXPECT_EQ(job_script("slurm", kJob),
            "#!/bin/bash\n"
            "# 103 points, 12 or 13 in each of 8 tasks. Save as sweep.sh; then:\n"
            "#   sbatch --wait sweep.sh; steptime merge " +
                arguments +
                "\n"
                "# A task that was lost goes on where it was when the script is submitted again.\n"
                "#SBATCH --job-name='My Sweep'\n"
                "#SBATCH --array=1-8\n"
                "#SBATCH --ntasks=1\n"
                "#SBATCH --cpus-per-task=2\n"
                "#SBATCH --requeue\n"
                "# Exit code 4 says that points failed, which the result says, too.\n"
                "steptime sweep " +
                arguments + " -j 2 --shard auto --resume || [ $? = 4 ]\n");
}

TEST(SweepJob, Kubernetes) {
  const std::string job = job_script("k8s", kJob);
  EXPECT_NE(job.find("  name: sweep-my-sweep\n"), std::string::npos) << job;
  EXPECT_NE(job.find("  completions: 8\n  parallelism: 8\n  completionMode: Indexed\n"),
            std::string::npos);
  EXPECT_NE(job.find(R"_(command: ["sh","-c","\"$@\" || [ $? = 4 ]","sh","steptime","sweep",)_"
                     R"("my config.json","--set","/run/name='x'","-o",)"
                     R"("results","-j","2","--shard","auto/8","--resume"])"),
            std::string::npos)
      << job;
}

TEST(SweepJob, GnuParallel) {
  EXPECT_TRUE(job_script("parallel",
                         {.name = "x", .points = 4, .tasks = 2, .folder = "r", .args = {"x.json"}})
                  .ends_with("\nseq 2 | parallel 'steptime sweep x.json -o r -j 1 --shard {}/2 "
                             "--resume >/dev/null || [ $? = 4 ]' && steptime merge x.json -o r\n"));
}

TEST(SweepJob, AnotherSystemIsRefused) {
  EXPECT_EQ(message_of<InputError>([] { job_script("slrum", kJob); }),
            "--emit: unknown \"slrum\" (did you mean \"slurm\"?); known: slurm, parallel, k8s");
}

TEST(SweepJob, IsPrintedInsteadOfSweeping) {
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({"sweep": {"/run/seed": [1, 2, 3]}})");
  const Outcome job = steptime({"sweep", file, "--emit", "slurm", "--tasks", "5"});
  EXPECT_EQ(job.exit, 0) << job.err;
  EXPECT_NE(job.out.find("# 3 points, 1 in each of 3 tasks."), std::string::npos) << job.out;
  EXPECT_NE(job.out.find("-o results -j 1 --shard auto --resume || [ $? = 4 ]\n"),
            std::string::npos)
      << job.out;
}

}  // namespace
}  // namespace steptime
