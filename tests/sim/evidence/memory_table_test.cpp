// Are published allocations held against the intervals of other groups?
#include "sim/evidence/memory_table.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// One group is 25 % off, the other 100 %: by the other's rows the first one's interval reaches from
// a half to twice the prediction and holds it, the second's from 0.8 to 1.25 and does not.
TEST(MemoryTable, RowsAreHeldAgainstIntervalsOfOtherGroups) {
  const std::vector<RecordedMemory> memory{
      {.row = {.id = "a", .group = "near", .error_pct = 25}, .published = 125, .simulated = 100},
      {.row = {.id = "b", .group = "far", .error_pct = 100}, .published = 200, .simulated = 100}};
  const std::string text = memory_table(memory);
  EXPECT_NE(text.find("near       1  100.0 %  150 %   25.0 %   25.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("far        1    0.0 %   45 %  100.0 %  100.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("all        2   50.0 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace steptime
