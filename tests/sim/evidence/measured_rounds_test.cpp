#include "sim/evidence/measured_rounds.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(MeasuredRounds, AreReadAsTheyAreWritten) {
  const MeasuredRounds rounds{
      2, {{"source", "me"}}, {{"broadcast", 4, {{4, {1e-6, 2e-6}}, {8, {3e-6, 4e-6}}}}}};
  const std::string text = rounds_json(rounds).dump();
  EXPECT_TRUE(is_rounds(text));
  const MeasuredRounds read = parse_rounds(text, "m.json");
  EXPECT_EQ(read.nodes, 2);
  EXPECT_EQ(read.provenance, rounds.provenance);
  ASSERT_EQ(read.series.size(), 1U);
  EXPECT_EQ(read.series[0].operation, "broadcast");
  EXPECT_EQ(read.series[0].ranks, 4);
  ASSERT_EQ(read.series[0].sizes.size(), 2U);
  EXPECT_EQ(read.series[0].sizes[1].bytes, 8);
  EXPECT_EQ(read.series[0].sizes[1].seconds, (std::vector{3e-6, 4e-6}));
}

TEST(MeasuredRounds, SayWhatIsWrong) {
  const auto error = [](const std::string& series) {
    return message_of<InputError>([&] {
      parse_rounds(R"({"format": "steptime-measurements", "version": 1, "nodes": 1,
                       "provenance": {}, "series": )" +
                       series + "}",
                   "m.json");
    });
  };
  EXPECT_EQ(error("[]"), "m.json: /series: expected at least one, got none");
  EXPECT_EQ(error(R"([{"operation": "x", "ranks": 2, "sizes": [{"bytes": 4, "seconds": []}]}])"),
            "m.json: /series/0/sizes/0/seconds: expected at least one time, got none");
  EXPECT_EQ(error(R"([{"operation": "x", "ranks": 2, "sizes": [{"bytes": 4, "seconds": [0]}]}])"),
            "m.json: /series/0/sizes/0/seconds: expected positive times in seconds, got 0");
  EXPECT_EQ(
      error(R"([{"operation": "x", "ranks": 2, "sizes": [{"bytes": 4, "seconds": [1e-300]}]}])"),
      "m.json: /series/0/sizes/0/seconds: expected times of at least 1 ps, got 1e-300");
}

TEST(MeasuredRounds, TablesAreRoundsEach) {
  const ScratchFile one("a.csv", "bytes,time_us\n4,1\n8,2\n");
  const ScratchFile two("b.csv", "bytes,time_us\n4,3\n8,4\n");
  const auto sizes = rounds_of_tables(std::vector{one.path(), two.path()});
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[1].seconds.size(), 2U);
  EXPECT_DOUBLE_EQ(sizes[1].seconds[1], 4e-6);
  const ScratchFile more("c.csv", "bytes,time_us\n4,1\n8,2\n8,3\n");
  EXPECT_EQ(message_of<InputError>([&] { rounds_of_tables(std::vector{more.path()}); }),
            more.path() + ": expected 1 rounds of 8 B, as of 4 B, got 2");
}

std::string nccl_table(const std::string& operation, int ranks, const std::string& time) {
  std::string text = "# Collective test starting: " + operation + "_perf\n";
  for (int rank = 0; rank < ranks; ++rank)
    text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid 7 on host device  0 [0x00] GPU\n";
  return text + "#  size  count  type  redop  root  time\n 8 2 float sum -1 " + time +
         "\n 16 4 float sum -1 " + time + "\n";
}

TEST(MeasuredRounds, WhatTablesSayOfThemselvesIsTakenOrChecked) {
  const ScratchFile four("four.txt", nccl_table("all_reduce", 4, "10"));
  const TableRounds as_said = rounds_of_tables(std::vector{four.path()}, {"all-reduce", 0, 0});
  EXPECT_EQ(as_said.ranks, 4);
  EXPECT_EQ(as_said.nodes, 1);
  EXPECT_EQ(message_of<InputError>([&] {
              rounds_of_tables(std::vector{four.path()}, {"all-reduce", 8, 0});
            }),
            four.path() + ": --ranks: expected a table of 8 ranks, got all-reduce on 4 ranks");
  EXPECT_EQ(message_of<InputError>([&] {
              rounds_of_tables(std::vector{four.path()}, {"broadcast", 4, 0});
            }),
            four.path() + ": --operation: expected broadcast, got all-reduce on 4 ranks");
  EXPECT_EQ(message_of<InputError>([&] {
              rounds_of_tables(std::vector{four.path()}, {"all-reduce", 4, 4});
            }),
            four.path() + ": --nodes: expected 1, as the devices are on, got 4");
}

/// Of two tables without a name the one whose rows add up is no all-to-all, and the other no
/// all-reduce.
TEST(MeasuredRounds, WhatAddsUpIsNoRoundOfWhatDoesNot) {
  const std::string head = "#  size  count  type  redop  root  time\n";
  const ScratchFile both("both.txt", head + " 8 2 float sum -1 10\n 16 4 float sum -1 10\n" + head +
                                         " 8 2 float none -1 30\n 16 4 float none -1 30\n");
  for (const auto& [operation, seconds] : {std::pair{"all-reduce", 10e-6}, {"all-to-all", 30e-6}}) {
    const TableRounds rounds = rounds_of_tables(std::vector{both.path()}, {operation, 4, 0});
    ASSERT_EQ(rounds.sizes.at(0).seconds.size(), 1U) << operation;
    EXPECT_DOUBLE_EQ(rounds.sizes[0].seconds[0], seconds);
  }
  const ScratchFile sum("sum.txt", head + " 8 2 float sum -1 10\n");
  EXPECT_EQ(message_of<InputError>([&] {
              rounds_of_tables(std::vector{sum.path()}, {"broadcast", 4, 0});
            }),
            sum.path() + ": --operation: expected broadcast, got a collective that adds up");
}

TEST(MeasuredRounds, TablesOfOtherRanksAreNeverOneAverage) {
  const ScratchFile both("both.txt",
                         nccl_table("all_reduce", 4, "10") + nccl_table("all_reduce", 2, "5"));
  EXPECT_EQ(message_of<InputError>([&] { rounds_of_tables(std::vector{both.path()}); }),
            both.path() +
                ": expected tables of one operation and as many ranks, got all-reduce on "
                "4 ranks and all-reduce on 2 ranks; --operation and --ranks choose");
  const TableRounds chosen = rounds_of_tables(std::vector{both.path()}, {"all-reduce", 2, 0});
  ASSERT_EQ(chosen.sizes[0].seconds.size(), 1U);
  EXPECT_DOUBLE_EQ(chosen.sizes[0].seconds[0], 5e-6);
}

}  // namespace
}  // namespace steptime
