#include "sim/layouts/known_times.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// 3 ps a byte, on links inside nodes; counts how often it was asked.
class Counting final : public Collective {
 public:
  Duration time(Bytes m) const override {
    ++times;
    return Duration(3 * m.count);
  }
  Duration startup() const override {
    ++startups;
    return Duration(7);
  }
  std::vector<Stage> stages(Bytes m) const override {
    ++staged;
    return {{.where = Pairs::kInNode, .work = Duration(3 * m.count)}};
  }
  mutable int times = 0;
  mutable int staged = 0;
  mutable int startups = 0;
};

TEST(KnownTimes, AsksOnceForEachSize) {
  const auto counting = std::make_shared<Counting>();
  const KnownTimes known(counting);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(known.time({5}).count(), 15);
    EXPECT_EQ(known.time({6}).count(), 18);
    ASSERT_EQ(known.stages({5}).size(), 1u);
    EXPECT_EQ(known.stages({5})[0].work.count(), 15);
    EXPECT_EQ(known.startup().count(), 7);
  }
  EXPECT_EQ(counting->times, 2);
  EXPECT_EQ(counting->staged, 1);
  EXPECT_EQ(counting->startups, 1);
}

}  // namespace
}  // namespace steptime
