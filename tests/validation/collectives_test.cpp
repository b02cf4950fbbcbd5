// Do modelled all-reduces take as long as measured ones? Prints the error of every open table.
#include "sim/config/data_dir.h"
#include "sim/evidence/collective_table.h"
#include "sim/evidence/measurements.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Table {
  std::string config;             ///< below configs/papers/collectives
  std::vector<std::string> sets;  ///< as for --set
  std::string measured;           ///< below traces
  double geomean_pct;             ///< bound over powers of two
  double worst_pct;               ///< bound over all sizes, by size of the error
};

/// The bounds are the errors at the time of writing, rounded up: a model that gets worse shows. The
/// goal for the first of them is 10 %.
const std::vector<Table> kTables{
    {"osu-10gbe", {"/cluster/nodes=2"}, "k80/allreduce/osu_2.csv", 5, 20},
    {"osu-10gbe",
     {"/cluster/nodes=4", "/cluster/network/bandwidth=915.1 MB/s",
      "/strategy/aggregation/collective/packet_overhead=0 s"},
     "k80/allreduce/osu_4.csv",
     5,
     16},
    {"osu-10gbe", {"/cluster/nodes=8"}, "k80/allreduce/osu_8.csv", 7, 30},
    {"nccl-2080ti", {}, "nccl/2080ti_8.csv", 6, 23},
    {"nccl-v100", {"/cluster/gpus_per_node=2"}, "nccl/v100_2.csv", 3, 4},
    {"nccl-v100", {"/cluster/gpus_per_node=4"}, "nccl/v100_4.csv", 4, 10},
    {"nccl-dgx1-v100", {}, "nccl/v100_8.csv", 5, 21},
    {"nccl-v100-pcie", {}, "nccl/v100_pcie_4.csv", 6, 15},
    {"nccl-v100-pcie",
     {"/cluster/gpus/pcie_bandwidth=11.18 GB/s", "/cluster/gpus/launch=4.09 us",
      "/strategy/aggregation/collective/version=2.4.2"},
     "nccl/v100_pcie_4_old.csv",
     4,
     22},
    {"nccl-a100", {"/cluster/gpus_per_node=2"}, "nccl/a100_2.csv", 2, 5},
    {"nccl-a100", {"/cluster/gpus_per_node=4"}, "nccl/a100_4.csv", 4, 8},
    {"nccl-a100", {"/cluster/gpus_per_node=8"}, "nccl/a100_8_c.csv", 10, 22},
    {"nccl-a100-8", {}, "nccl/a100_8.csv", 8, 23},
    {"nccl-h100-8", {}, "nccl/h100_8.csv", 6, 34}};

TEST(Collectives, OpenTablesArePredicted) {
  fmt::print("{:<26}{:>7}{:>12}{:>16}{:>10}\n", "table", "sizes", "geomean", "powers of two",
             "worst");
  for (const Table& table : kTables) {
    const CollectiveModel model(load_document(
        (data_dir() / "configs/papers/collectives" / (table.config + ".json")).string(),
        table.sets));
    std::vector<CollectiveRow> rows;
    for (const Measurement& m :
         read_measurements((data_dir() / "traces" / table.measured).string())) {
      rows.push_back(model.row(m.bytes));
      rows.back().measured_us = m.time_us;
    }
    const CollectiveErrors all = errors(rows, false);
    const CollectiveErrors powers = errors(rows, true);
    fmt::print("{:<26}{:>7}{:>10.1f} %{:>14.1f} %{:>+8.1f} %\n", table.measured, all.sizes,
               all.geomean_pct, powers.geomean_pct, all.worst_pct);
    EXPECT_LE(powers.geomean_pct, table.geomean_pct) << table.measured;
    EXPECT_LE(std::abs(all.worst_pct), table.worst_pct) << table.measured;
  }
}

/// Open MPI 3.1 leaves recursive doubling at 10,000 B; the logs jump between 8 and 12 KiB.
TEST(Collectives, TheSwitchOfAlgorithmIsWhereTheLogsHaveIt) {
  const CollectiveModel model(
      load_document((data_dir() / "configs/papers/collectives/osu-10gbe.json").string(), {}));
  EXPECT_EQ(model.row(8192).choice, "recursive-doubling");
  EXPECT_EQ(model.row(12288).choice, "ring");
}

/// The tables drop where NCCL leaves a protocol: on 4 V100 between 4 and 5 MiB, on the 2080 Ti
/// between 128 and 256 KiB.
TEST(Collectives, TheSwitchOfProtocolIsWhereTheTablesHaveIt) {
  const auto choice = [](const std::string& config, std::int64_t bytes) {
    return CollectiveModel(
               load_document(
                   (data_dir() / "configs/papers/collectives" / (config + ".json")).string(), {}))
        .row(bytes)
        .choice;
  };
  EXPECT_EQ(choice("nccl-v100", 4 << 20), "Ring/LL128 x8");
  EXPECT_EQ(choice("nccl-v100", 5 << 20), "Ring/Simple x8");
  EXPECT_EQ(choice("nccl-2080ti", 128 << 10), "Ring/LL x1");
  EXPECT_EQ(choice("nccl-2080ti", 256 << 10), "Ring/Simple x1");
}

}  // namespace
}  // namespace steptime
