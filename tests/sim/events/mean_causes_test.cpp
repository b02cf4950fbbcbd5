#include "sim/events/mean_causes.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(MeanCauses, AreMeansOverAllRunsTheLongestFirst) {
  // "copies" is a cause of the second run only: it makes (0 + 6) / 2 s of a mean run.
  const std::vector<Cause> first{{"forward pass", "GPU", 4}};
  const std::vector<Cause> second{{"copies", "GPU", 6}, {"forward pass", "GPU", 5}};
  const auto mean = mean_causes({first, second});
  ASSERT_EQ(mean.size(), 2U);
  EXPECT_EQ(mean[0].cause, "forward pass");
  EXPECT_EQ(mean[0].seconds, 4.5);
  EXPECT_EQ(mean[1].cause, "copies");
  EXPECT_EQ(mean[1].seconds, 3);
}

TEST(MeanCauses, TellResourcesApart) {
  const std::vector<Cause> run{{"wait", "GPU", 1}, {"wait", "link", 2}};
  const auto mean = mean_causes({run});
  ASSERT_EQ(mean.size(), 2U);
  EXPECT_EQ(mean[0].resource, "link");
}

}  // namespace
}  // namespace steptime
