// Are times turned into nccl-tests' bandwidths, and errors summed up by ratio?
#include "sim/evidence/collective_table.h"

#include "sim/evidence/measurements.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

CollectiveModel line_on(int nodes) {
  Json root = Json::parse(R"({"name": "x", "cluster": {"nodes": 4,
      "network": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"}},
      "strategy": {"aggregation": {"type": "all-reduce",
        "collective": {"type": "linear", "a": "10 us", "b": "1 ns/B"}}}})");
  root["cluster"]["nodes"] = nodes;
  return CollectiveModel(std::make_shared<Document>(Document{"x.json", root}));
}

/// 90,000 B: 10 + 90 us; 0.9 GB/s; on 4 ranks a link of a ring carries 2 x 3/4 of it.
TEST(CollectiveTable, Bandwidths) {
  const CollectiveRow row = line_on(4).row(90000);
  EXPECT_DOUBLE_EQ(row.time_us, 100);
  EXPECT_DOUBLE_EQ(row.algbw_gbps, 0.9);
  EXPECT_DOUBLE_EQ(row.busbw_gbps, 1.35);
  EXPECT_EQ(line_on(4).row(0).algbw_gbps, 0);
}

std::vector<CollectiveRow> measured_rows() {
  // 20 us against 10: twice; 40 against 80: half; 100 against 100.
  return {{.bytes = 8, .time_us = 20, .measured_us = 10},
          {.bytes = 12, .time_us = 40, .measured_us = 80},
          {.bytes = 16, .time_us = 100, .measured_us = 100},
          {.bytes = 32, .time_us = 1}};
}

TEST(CollectiveTable, ErrorsAreByRatio) {
  const CollectiveErrors all = errors(measured_rows(), false);
  EXPECT_EQ(all.sizes, 3U);
  EXPECT_NEAR(all.geomean_pct, (std::pow(2.0, 2.0 / 3) - 1) * 100, 1e-9);
  EXPECT_NEAR(all.worst_pct, 100, 1e-9);
  EXPECT_EQ(all.worst_bytes, 8);
  const CollectiveErrors powers = errors(measured_rows(), true);
  EXPECT_EQ(powers.sizes, 2U);
  EXPECT_NEAR(powers.geomean_pct, (std::sqrt(2.0) - 1) * 100, 1e-9);
  EXPECT_EQ(errors({}, true).sizes, 0U);
}

TEST(CollectiveTable, Text) {
  EXPECT_EQ(collective_text(std::vector{line_on(4).row(90000)}),
            "#        size         count     type   redop        time    algbw    busbw\n"
            "#         (B)    (elements)                         (us)   (GB/s)   (GB/s)\n"
            "        90000         22500    float     sum       100.0     0.90     1.35\n");
  const std::string text = collective_text(measured_rows());
  EXPECT_NE(text.find("            8             2    float     sum       20.00     0.00     0.00"
                      "       10.00  +100.0\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(
      text.ends_with("# sizes: 3, geometric-mean error 58.7 %, worst +100.0 % at 8 B\n"
                     "# powers of two: 2, geometric-mean error 41.4 %, worst +100.0 % at "
                     "8 B\n"))
      << text;
}

TEST(CollectiveTable, LargeNumbersWidenTheirColumn) {
  const std::vector<CollectiveRow> rows{{.bytes = 8, .time_us = 9e12},
                                        {.bytes = 123'456'789'012'345, .time_us = 1}};
  EXPECT_EQ(collective_text(rows),
            "#            size          count     type   redop          time    algbw    busbw\n"
            "#             (B)     (elements)                           (us)   (GB/s)   (GB/s)\n"
            "                8              2    float     sum 9000000000000     0.00     0.00\n"
            "  123456789012345 30864197253086    float     sum          1.00     0.00     0.00\n");
}

TEST(CollectiveTable, BusFactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kAllReduce, 8), 14.0 / 8);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kReduceScatter, 8), 7.0 / 8);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kAllGather, 8), 7.0 / 8);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kReduce, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kAllToAll, 8), 7. / 8);
}

/// What is printed can be compared with.
TEST(CollectiveTable, TextCsvAndJsonAreMeasurements) {
  const std::vector rows{line_on(4).row(90000), line_on(4).row(4)};
  for (const std::string& text :
       {collective_text(rows), collective_csv(rows), collective_json(rows).dump()}) {
    const auto read = parse_measurements(text, "x");
    ASSERT_EQ(read.size(), 2U) << text;
    EXPECT_EQ(read[0].bytes, 90000);
    EXPECT_NEAR(read[0].time_us, 100, 1e-9);
    EXPECT_NEAR(read[1].time_us, 10.004, 5e-3);
  }
}

TEST(CollectiveTable, JsonHasErrorsWhereMeasured) {
  const Json list = collective_json(measured_rows());
  EXPECT_EQ(list[0].dump(), R"({"bytes":8,"time_us":20.0,"algbw_GBps":0.0,"busbw_GBps":0.0,)"
                            R"("measured_us":10.0,"error_pct":100.0})");
  EXPECT_FALSE(list[3].contains("measured_us"));
}

}  // namespace
}  // namespace steptime
