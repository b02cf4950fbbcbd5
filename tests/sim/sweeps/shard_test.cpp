#include "sim/sweeps/shard.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Variables = std::map<std::string, std::string>;

Environment with(const Variables& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}
std::string shard(const std::string& text, const Variables& variables = {}) {
  const SweepShard s = parse_shard(text, with(variables));
  return std::to_string(s.number) + "/" + std::to_string(s.count);
}
std::string refusal(const std::string& text, const Variables& variables = {}) {
  return message_of<InputError>([&] { shard(text, variables); });
}

TEST(Shard, ByNumber) {
  EXPECT_EQ(shard("1/1"), "1/1");
  EXPECT_EQ(shard("2/8"), "2/8");
  EXPECT_EQ(shard("8/8"), "8/8");
  EXPECT_EQ(refusal("0/8"), "--shard: expected a number from 1 to 8, got 0");
  EXPECT_EQ(refusal("9/8"), "--shard: expected a number from 1 to 8, got 9");
  EXPECT_EQ(refusal("1/0"), "--shard: expected 1 to 1000000 shards, got 0");
  for (const char* text : {"", "2", "a/b", "1/2/3", "1/", "auto/", "auto/x", "automatic", "-1/-1x"})
    EXPECT_EQ(refusal(text),
              "--shard: expected such as 2/8, auto or auto/8, got \"" + std::string(text) + "\"");
}

TEST(Shard, OfASlurmArray) {
  // Tasks 3, 5, 7, 9: the one with 7 is the third of four.
  const Variables array{{"SLURM_ARRAY_TASK_ID", "7"},
                        {"SLURM_ARRAY_TASK_COUNT", "4"},
                        {"SLURM_ARRAY_TASK_MIN", "3"},
                        {"SLURM_ARRAY_TASK_MAX", "9"}};
  EXPECT_EQ(shard("auto", array), "3/4");
  EXPECT_EQ(shard("auto/4", array), "3/4");
  EXPECT_EQ(refusal("auto/8", array), "--shard: auto/8: 4 tasks were started");
  // Each of its tasks has two processes: the second one of the third is the sixth of eight.
  Variables both = array;
  both["SLURM_PROCID"] = "1";
  both["SLURM_STEP_NUM_TASKS"] = "2";
  EXPECT_EQ(shard("auto", both), "6/8");
  Variables gaps = array;
  gaps["SLURM_ARRAY_TASK_MAX"] = "10";
  EXPECT_EQ(refusal("auto", gaps),
            "--shard: auto: the tasks of this Slurm array are not evenly spaced; expected one such "
            "as --array=1-8");
}

TEST(Shard, OfProcessesThatWereStartedTogether) {
  EXPECT_EQ(shard("auto", {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "3"}}), "1/3");
  EXPECT_EQ(shard("auto", {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}), "3/3");
  EXPECT_EQ(shard("auto", {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}}), "2/3");
  EXPECT_EQ(refusal("auto", {{"PMI_RANK", "x"}, {"PMI_SIZE", "3"}}),
            "--shard: PMI_RANK: expected a whole number, got \"x\"");
}

TEST(Shard, OfThoseThatDoNotSayHowManyThereAre) {
  // Kubernetes counts from 0; GNU parallel, and HyperQueue's arrays as one writes them, from 1.
  EXPECT_EQ(shard("auto/4", {{"JOB_COMPLETION_INDEX", "0"}}), "1/4");
  EXPECT_EQ(shard("auto/4", {{"JOB_COMPLETION_INDEX", "3"}}), "4/4");
  EXPECT_EQ(shard("auto/4", {{"PARALLEL_SEQ", "1"}}), "2/4");
  EXPECT_EQ(shard("auto/4", {{"PARALLEL_SEQ", "4"}}), "1/4");
  EXPECT_EQ(shard("auto/4", {{"HQ_TASK_ID", "2"}}), "3/4");
  EXPECT_EQ(refusal("auto", {{"PARALLEL_SEQ", "1"}}),
            "--shard: auto: PARALLEL_SEQ does not say how many there are; expected such as auto/8");
  EXPECT_EQ(refusal("auto"),
            "--shard: auto: neither Slurm, Open MPI, PMI, Kubernetes, GNU parallel nor HyperQueue "
            "says which one this is; expected such as 2/8");
}

TEST(Shard, RanksAreThoseOfMpi) {
  EXPECT_EQ(ranks_of(with({})), 1);
  EXPECT_EQ(ranks_of(with({{"OMPI_COMM_WORLD_SIZE", "4"}})), 4);
  EXPECT_EQ(ranks_of(with({{"PMI_SIZE", "2"}})), 2);
  EXPECT_EQ(ranks_of(with({{"SLURM_STEP_NUM_TASKS", "8"}})), 1);  // srun without MPI
  EXPECT_EQ(ranks_of(with({{"SLURM_STEP_NUM_TASKS", "8"}, {"PMIX_RANK", "0"}})), 8);
}

}  // namespace
}  // namespace steptime
