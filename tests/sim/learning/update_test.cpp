#include "sim/learning/update.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Descend, IsMomentumSgdWithTheMeanOfTheGradients) {
  // Two gradients with sums 4 and -2, means 2 and -1: v = 0.5 v - 0.1 g = {0.8, 0.1}, w = w + v.
  std::vector<double> w{1, 1};
  std::vector<double> v{2, 0};
  const std::vector<double> sum{4, -2};
  descend({w, v}, {sum, 2}, {.rate = 0.1, .momentum = 0.5});
  EXPECT_DOUBLE_EQ(v[0], 0.8);
  EXPECT_DOUBLE_EQ(v[1], 0.1);
  EXPECT_DOUBLE_EQ(w[0], 1.8);
  EXPECT_DOUBLE_EQ(w[1], 1.1);
}

/// Clients send their parameters in every third step.
class EveryThird final : public Update {
 public:
  bool sends_parameters() const override { return true; }
  bool exchanges(std::int64_t step) const override { return step % 3 == 2; }
  bool waits_for_all() const override { return true; }
  void on_server(Weights, Pushed, const Descent&) const override {}
};

TEST(Update, CountsItsExchanges) {
  EXPECT_EQ(EveryThird().exchanges_in(2), 0);
  EXPECT_EQ(EveryThird().exchanges_in(3), 1);
  EXPECT_EQ(EveryThird().exchanges_in(8), 2);
}

TEST(Update, StepsEndTogetherOnlyWhereGradientsAreWaitedFor) {
  EXPECT_FALSE(EveryThird().ends_together());
}

TEST(Update, ByDefaultAClientTakesWhatItPulled) {
  std::vector<double> w{1, 2};
  EveryThird().on_client(w, std::vector<double>{3, 4});
  EXPECT_EQ(w, (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace steptime
