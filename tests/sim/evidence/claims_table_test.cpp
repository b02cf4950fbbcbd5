#include "sim/evidence/claims_table.h"

#include "tests/support/claimed.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ClaimsTable, SumsUp) {
  const TinyFolder folder;
  std::vector<ClaimRow> rows = simulate_claims(claim_file(folder, R"({"relation": ">="})"));
  for (const char* patch :
       {R"({"id": "T-2", "published": 0.4, "missed_because": "a stopped clock"})",
        R"({"id": "T-3", "published": 0.4, "kind": "fitted",
            "alternatives": {"one worker": {"/cluster/nodes": 1}}})"}) {
    rows.push_back(claim(patch));
  }
  EXPECT_EQ(claims_table(rows),
            "id   quantity   published   simulated    error  within  kind       status\n"
            "---  ---------  ----------  ---------  -------  ------  ---------  ------\n"
            "T-1  step time  >= 0.044 s      0.044   +0.0 %          predicted  ok\n"
            "T-2  step time  0.4 s           0.044  -89.0 %    10 %  predicted  MISSED\n"
            "T-3  step time  0.4 s           0.044  -89.0 %    10 %  fitted     MISSED\n"
            "\n"
            "T-2, step time\n"
            "  missed: a stopped clock\n"
            "\n"
            "T-3, step time\n"
            "  missed: no reason given\n"
            "  with one worker: 0.042 s\n"
            "\n"
            "1 of 3 figures ok; of the 2 predicted, 1 ok\n");
}

TEST(ClaimsCsv, HasARowForEachAndNoErrorForAnOrdering) {
  std::vector<ClaimRow> rows{claim("{}"), claim("{}")};
  rows[1].published = "A < B";
  rows[1].simulated = "B < A";
  const std::vector<std::string> lines = lines_of(claims_csv(rows));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0],
            "id,paper,quantity,unit,relation,published,simulated,error_pct,tolerance_pct,kind,"
            "status,config,note,where,inputs,fitted");
  EXPECT_TRUE(lines[1].starts_with("T-1,tiny,step time,s,=,0.044,0.044,0.0,10.0,predicted,ok,"));
  EXPECT_TRUE(lines[2].starts_with("T-1,tiny,step time,s,=,A < B,B < A,,,predicted,ok,"));
}

}  // namespace
}  // namespace steptime
