#include "sim/collective/collective.h"
#include "sim/core/error.h"
#include "tests/support/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// 004 equation 9: T(M) = a + b M. 523 us + 0.857 ns/B x 1 MB = 523 + 857 us.
TEST(Linear, IsTheLine) {
  const auto collective =
      make<Collective>(R"({"type": "linear", "a": "523 us", "b": "0.857 ns/B"})", flat_cluster(8));
  EXPECT_EQ(collective->time(Bytes{1'000'000}), Duration(1'380'000'000));
  EXPECT_EQ(collective->time(Bytes{0}), Duration(523'000'000));
  EXPECT_EQ(collective->startup(), Duration(523'000'000));
  EXPECT_EQ(collective->linear()->a, Duration(523'000'000));
}

TEST(Linear, HoldsForWhateverNumberOfWorkersItWasMeasuredOn) {
  const std::string text = R"({"type": "linear", "a": "1 us", "b": "1 ns/B"})";
  EXPECT_EQ(make<Collective>(text, flat_cluster(2))->time(Bytes{1'000}), Duration(2'000'000));
  EXPECT_EQ(make<Collective>(text, flat_cluster(64))->time(Bytes{1'000}), Duration(2'000'000));
}

TEST(Linear, BothNumbersAreRequiredAndNotNegative) {
  const auto error = [](const std::string& json) {
    return message_of<InputError>([&] { make<Collective>(json, flat_cluster(2)); });
  };
  EXPECT_EQ(error(R"({"type": "linear", "a": "1 us"})"),
            "x.json: /collective/b: required but missing");
  EXPECT_EQ(error(R"({"type": "linear", "a": "-1 us", "b": "1 ns/B"})"),
            "x.json: /collective/a: must not be negative, got \"-1 us\"");
  EXPECT_EQ(error(R"({"type": "linear", "a": "1 us", "b": "-1 ns/B"})"),
            "x.json: /collective/b: must not be negative, got \"-1 ns/B\"");
  EXPECT_EQ(error(R"({"type": "linear", "a": "1 us", "b": 1e-9})"),
            "x.json: /collective/b: expected a time per byte as a string with its unit, got "
            "1e-09");
}

}  // namespace
}  // namespace steptime
