// Outputs of nccl-tests and OSU as people have pasted them in public (tests/data/pasted, cut to a
// few rows, hosts renamed; index.json has their sources): each is read with what it says of itself,
// or refused with its reason.
#include "sim/config/data_dir.h"
#include "sim/config/json.h"
#include "sim/core/error.h"
#include "sim/evidence/measurements.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

void expect_tables(const Json& expected, const std::vector<MeasuredTable>& tables,
                   const std::string& file) {
  ASSERT_EQ(tables.size(), expected.size()) << file;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const MeasuredTable& table = tables[i];
    const Json& of = expected[i];
    EXPECT_EQ(table.operation, of["operation"]) << file;
    EXPECT_EQ(table.ranks, of["ranks"]) << file;
    EXPECT_EQ(table.nodes, of["nodes"]) << file;
    ASSERT_EQ(table.rows.size(), of["rows"]) << file;
    for (const auto& [row, key] :
         {std::pair{table.rows.front(), "first"}, std::pair{table.rows.back(), "last"}}) {
      EXPECT_EQ(row.bytes, of[key][0]) << file;
      EXPECT_NEAR(row.time_us, of[key][1].get<double>(), 1e-9) << file;
    }
  }
}

TEST(PastedOutputs, AreReadOrRefusedWithTheirReason) {
  const auto folder = data_dir() / "tests/data/pasted";
  const Json index = parse_json(read_file((folder / "index.json").string()), "index.json");
  EXPECT_GE(index.size(), 17U);
  for (const Json& paste : index) {
    const std::string file = paste["file"];
    const std::string text = read_file((folder / file).string());
    if (paste.contains("tables")) {
      try {
        expect_tables(paste["tables"], parse_tables(text, file), file);
      } catch (const InputError& e) {
        ADD_FAILURE() << e.what();
      }
      continue;
    }
    const std::string said = message_of<InputError>([&] { parse_tables(text, file); });
    const std::string reason = paste["refused"];
    EXPECT_TRUE(said.starts_with(file + ": " + reason)) << said;
  }
}

}  // namespace
}  // namespace steptime
