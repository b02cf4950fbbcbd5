#include "sim/core/percentiles.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Percentiles, AreTheLeastValuesThatSoManyDoNotExceed) {
  std::vector<double> values;
  for (int i = 200; i > 0; --i)
    values.push_back(i);
  const Percentiles of_200 = percentiles_of(values);  // 100, 190, 198 of them
  EXPECT_EQ(of_200.p50, 100);
  EXPECT_EQ(of_200.p95, 190);
  EXPECT_EQ(of_200.p99, 198);
  const Percentiles of_3 = percentiles_of({7, 5, 6});  // 1.5, 2.85, 2.97 of them
  EXPECT_EQ(of_3.p50, 6);
  EXPECT_EQ(of_3.p95, 7);
  EXPECT_EQ(of_3.p99, 7);
  EXPECT_EQ(percentiles_of({4}).p50, 4);
}

}  // namespace
}  // namespace steptime
