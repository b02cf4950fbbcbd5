#include "sim/step/schedule.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const Params kParams{granularity_param()};

TEST(Schedule, GranularityIsTensorUnlessAskedOtherwise) {
  EXPECT_EQ(read_granularity(config_of("{}", kParams)), Granularity::kTensor);
  EXPECT_EQ(read_granularity(config_of(R"({"granularity": "tensor"})", kParams)),
            Granularity::kTensor);
  EXPECT_EQ(read_granularity(config_of(R"({"granularity": "layer"})", kParams)),
            Granularity::kLayer);
  EXPECT_EQ(message_of<InputError>(
                [] { read_granularity(config_of(R"({"granularity": "model"})", kParams)); }),
            "x.json: /granularity: unknown \"model\"; known: tensor, layer");
}

TEST(Schedule, EveryRegisteredScheduleHasAGranularityAndTakesDefaults) {
  ASSERT_FALSE(Schedules::instance().items().empty());
  for (const auto& [name, item] : Schedules::instance().items()) {
    EXPECT_FALSE(item.help.empty()) << name;
    const auto schedule = make<Schedule>(R"({"type": ")" + name + R"("})");
    EXPECT_EQ(schedule->granularity(), Granularity::kTensor) << name;
    const auto layers = make<Schedule>(R"({"type": ")" + name + R"(", "granularity": "layer"})");
    EXPECT_EQ(layers->granularity(), Granularity::kLayer) << name;
  }
}

}  // namespace
}  // namespace steptime
