#include "sim/servers/aggregation.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Esgd, DefaultsAreThePapers) {
  const auto update = make<Update>(R"({"type": "esgd"})");
  EXPECT_EQ(update->kind, Update::Kind::kEsgd);
  EXPECT_EQ(update->interval, 64);  // 001 section 5
  EXPECT_TRUE(update->pull_sees_push);
}

TEST(Esgd, ReadsItsParameters) {
  const auto update =
      make<Update>(R"({"type": "esgd", "interval": 4, "alpha": 0.25, "reading": "simultaneous"})");
  EXPECT_EQ(update->interval, 4);
  EXPECT_EQ(update->alpha, 0.25);
  EXPECT_FALSE(update->pull_sees_push);
}

}  // namespace
}  // namespace steptime
