// Are the outputs of the usual benchmarks understood, and broken ones refused?
#include "sim/evidence/measurements.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Rows = std::vector<std::pair<std::int64_t, double>>;

Rows rows(const std::string& text) {
  Rows rows;
  for (const Measurement& m : parse_measurements(text, "m.txt"))
    rows.emplace_back(m.bytes, m.time_us);
  return rows;
}
std::string error_of(const std::string& text) {
  return message_of<InputError>([&] { parse_measurements(text, "m.txt"); });
}

// Source of the columns: NVIDIA/nccl-tests src/util.cu.
TEST(Measurements, NcclTestsText) {
  EXPECT_EQ(rows(R"(# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor)
node1:77:77 [0] NCCL INFO Bootstrap : Using eth0
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    12.50    0.00    0.00      0    11.00    0.00    0.00      0
          16             4     float     sum      -1     1e+1    0.00    0.00    N/A    11.00    0.00    0.00    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.1
)"),
            (Rows{{8, 12.5}, {16, 10}}));
}

TEST(Measurements, NcclTestsWithoutARootColumn) {
  EXPECT_EQ(rows("#       size         count    type   redop     time   algbw   busbw  error\n"
                 "#        (B)    (elements)                    (us)  (GB/s)  (GB/s)\n"
                 "     1048576        262144   float     sum    70.14   14.95   14.95  1e-07\r\n"),
            (Rows{{1048576, 70.14}}));
}

/// Before version 2 times were in milliseconds.
TEST(Measurements, OldNcclTestsCountInMilliseconds) {
  EXPECT_EQ(rows("#      bytes             N    type      op     time  algbw  busbw      res\n"
                 "     1048576        262144   float     sum    2.059   0.51   0.51    0e+00\n"),
            (Rows{{1048576, 2059}}));
}

TEST(Measurements, NcclTestsJson) {
  EXPECT_EQ(rows(R"({"version": 3, "args": ["all_reduce_perf"], "nccl_version": 22703, "results": [
      {"size": 8, "count": 2, "type": "float", "redop": "sum", "root": "-1",
       "out_of_place": {"time": 12.5, "alg_bw": 0.0, "bus_bw": 0.0, "nwrong": 0.0},
       "in_place": {"time": 11.0}},
      {"size": 16, "out_of_place": null, "in_place": {"time": 13}}]})"),
            (Rows{{8, 12.5}, {16, 13}}));
}

TEST(Measurements, OwnJson) {
  EXPECT_EQ(rows(R"([{"bytes": 8, "time_us": 1.5, "algbw_GBps": 0.005}])"), (Rows{{8, 1.5}}));
}

TEST(Measurements, Osu) {
  EXPECT_EQ(rows("\n# OSU MPI Allreduce Latency Test v7.3\n# Datatype: MPI_CHAR.\n"
                 "# Size       Avg Latency(us)   Min Latency(us)\n"
                 "4                      31.92             30.00\n"
                 "1048576              1839.14           1800.00\n"),
            (Rows{{4, 31.92}, {1048576, 1839.14}}));
}

/// Logs with the number of ranks in front of the size.
TEST(Measurements, OsuWithRanksInFront) {
  EXPECT_EQ(rows("# OSU MPI Allreduce Latency Test v5.4.0\n# Size  Avg Latency(us)\n2,4   31.92\n"),
            (Rows{{4, 31.92}}));
}

/// The second column says its unit; what is no latency is no time.
TEST(Measurements, OsuWithItsUnit) {
  const std::string title = "# OSU MPI Allreduce Latency Test v7.3\n";
  EXPECT_EQ(rows(title + "# Size  Avg Latency(ms)\n4   31.92\n"), (Rows{{4, 31920}}));
  EXPECT_EQ(rows(title + "# Size          Latency (us)\n4   31.92\n"), (Rows{{4, 31.92}}));
  EXPECT_EQ(error_of(title + "# Size  Avg Bandwidth(MB/s)\n4   31.92\n"),
            "m.txt: line 2: expected a latency in ns, us, ms or s in the second column, got "
            "\"# Size  Avg Bandwidth(MB/s)\"");
}

TEST(Measurements, Csv) {
  EXPECT_EQ(rows("# comment\nbytes,time_us,busbw_GBs\n8,35.93,0.00\n16, 37.01 ,0.00\n"),
            (Rows{{8, 35.93}, {16, 37.01}}));
  EXPECT_EQ(
      rows("size(B),count,type,time(ns),busbw(GB/s),time(ns)\n1048576,262144,float,70140,14,6\n"),
      (Rows{{1048576, 70.14}}));
  EXPECT_EQ(rows("latency_ms,size\n2,4\n"), (Rows{{4, 2000}}));
}

TEST(Measurements, WhatIsNoMeasurementIsRefused) {
  const std::string expected =
      "output of nccl-tests or of OSU, or CSV with a header that names a size and a time "
      "(\"bytes,time_us\")";
  EXPECT_EQ(error_of(""), "m.txt: no measurement found");
  EXPECT_EQ(error_of("# only\n"), "m.txt: no measurement found");
  EXPECT_EQ(error_of("bytes,time_us\n"), "m.txt: no measurement found");
  EXPECT_EQ(error_of("hello\n"), "m.txt: line 1: expected " + expected + ", got \"hello\"");
  EXPECT_EQ(error_of("\n8,35\n"), "m.txt: line 2: expected " + expected + ", got \"8,35\"");
}

TEST(Measurements, BrokenRowsAreNamed) {
  EXPECT_EQ(error_of("bytes,time_us\n8,0\n"), "m.txt: line 2: expected a positive time, got \"0\"");
  EXPECT_EQ(error_of("bytes,time_us\n8,nan\n"),
            "m.txt: line 2: expected a positive time, got \"nan\"");
  EXPECT_EQ(error_of("bytes,time_us\n8,inf\n"),
            "m.txt: line 2: expected a positive time, got \"inf\"");
  EXPECT_EQ(error_of("bytes,time_us\n-8,1\n"),
            "m.txt: line 2: expected a number of bytes, got \"-8\"");
  EXPECT_EQ(error_of("bytes,time_us\n99999999999999999999,1\n"),
            "m.txt: line 2: expected a number of bytes, got \"99999999999999999999\"");
  EXPECT_EQ(error_of("bytes,time_us\n8\n"),
            "m.txt: line 2: expected at least 2 columns, got \"8\"");
  EXPECT_EQ(error_of("#  size  count  time\n 8 2\n"),
            "m.txt: line 2: expected at least 3 columns, got \" 8 2\"");
  EXPECT_EQ(error_of("# OSU\n8\n"), "m.txt: line 2: expected a size and a latency, got \"8\"");
  for (const char* time : {"1e-300", "1e-7", "1e13"}) {
    EXPECT_EQ(
        error_of(std::string("bytes,time_us\n8,") + time + "\n"),
        std::string("m.txt: line 2: expected a time of 1 ps to 1e+06 s, got \"") + time + "\"");
  }
  EXPECT_EQ(error_of(R"([{"bytes": 8, "time_us": 1e-300}])"),
            "m.txt: /0/time_us: expected a time of 1 ps to 1e+06 s, got 1e-300");
}

constexpr const char* kNcclHead =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
    "time\n";

/// They are meant as rows: nobody would see that one is missing.
TEST(Measurements, ASizeThatIsNoneIsNoLineOfALog) {
  const std::string head = kNcclHead;
  EXPECT_EQ(error_of(head + "  32768.5  8192  float  sum  -1  20.5  1.60  2.40  0  20.4\n"),
            "m.txt: line 2: expected a number of bytes, got \"32768.5\"");
  EXPECT_EQ(
      error_of(head + "  99999999999999999999  8192  float  sum  -1  20.5  1.6  2.4  0  20\n"),
      "m.txt: line 2: expected a number of bytes, got \"99999999999999999999\"");
  EXPECT_EQ(error_of("# OSU MPI Allreduce Latency Test\n# Size  Avg Latency(us)\n4.5  31.92\n"),
            "m.txt: line 3: expected a number of bytes, got \"4.5\"");
  EXPECT_EQ(rows(head + "2024-01-01 12:00:00 a line of a log\n"
                        "  32768  8192  float  sum  -1  20.5  1.60  2.40  0  20.4\n"),
            (Rows{{32768, 20.5}}));
}

/// 32,768 B in 20.5 us are 1.6 GB/s; without its time a row says 1.6 us, which would be 20 GB/s.
TEST(Measurements, ABlankTimeIsNotTheBandwidthBehindIt) {
  const std::string row = "32768  8192  float  sum  -1        1.60  2.40  0  20.4";
  EXPECT_EQ(error_of(kNcclHead + row + "\n"),
            "m.txt: line 2: expected a row with a time in its column, got \"" + row + "\"");
}

TEST(Measurements, ValuesThatTheBenchmarkFoundWrongAreRefused) {
  const std::string row = "32768  8192  float  sum  -1  20.5  1.60  2.40  17  20.4";
  EXPECT_EQ(error_of(kNcclHead + row + "\n"),
            "m.txt: line 2: expected results that the benchmark itself found right (0 \"#wrong\"), "
            "got \"" +
                row + "\"");
}

/// As scripts write above what a program prints that does not name itself.
TEST(Measurements, ATitleNamesTheOperation) {
  const auto tables =
      parse_tables(std::string("all_reduce result\n") + kNcclHead +
                       "  32768  8192  float  sum  -1  20.5  1.60  2.40  0  20.4\n"
                       "alltoall result\n" +
                       kNcclHead + "  32768  8192  float  none  -1  20.5  1.60  2.40  0  20.4\n",
                   "m.txt");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].operation, "all-reduce");
  EXPECT_EQ(tables[1].operation, "all-to-all");
  EXPECT_EQ(tables[0].reduces, true);
  EXPECT_EQ(tables[1].reduces, false);
}

TEST(Measurements, BrokenJsonIsNamed) {
  EXPECT_EQ(error_of("{}"),
            "m.txt: /results: expected the list of results of nccl-tests, got null");
  EXPECT_EQ(error_of("[]"), "m.txt: no measurement found");
  EXPECT_EQ(error_of("[3]"), "m.txt: /0: expected an object, got 3");
  EXPECT_EQ(error_of(R"([{"bytes": 8}])"), "m.txt: /0/time_us: expected a positive time, got null");
  EXPECT_EQ(error_of(R"([{"time_us": 8}])"),
            "m.txt: /0/bytes: expected a number of bytes, got null");
  EXPECT_EQ(error_of(R"({"results": [{"size": 8, "out_of_place": null}]})"),
            "m.txt: /results/0/out_of_place: expected an object, got null");
  EXPECT_EQ(error_of(R"({"results": [{"size": 8, "out_of_place": {"time": -1}}]})"),
            "m.txt: /results/0/out_of_place/time: expected a positive time, got -1");
}

}  // namespace
}  // namespace steptime
