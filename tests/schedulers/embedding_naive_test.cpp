// Does the engine take what is ready?
#include "tests/support/embedded.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

//  backward [ t3 2 s ][ t2 2 s ][ t1 2 s ]
//  comm              [1]       [1]       [1]      forward key order: taken as they come, 7 s
TEST(Naive, OverlapsTheBackwardPassInAnyKeyOrder) {
  const std::vector<LayerTimes> times(3, {Duration{}, 2 * kSecond});
  for (const char* order : {"forward", "backward"}) {
    const auto embedding = embedding_of("naive", R"("key_order": ")" + std::string(order) + "\"");
    const EmbeddedStep step = run_embedded(*embedding, layers_of(times), line(kSecond, {}));
    EXPECT_EQ(step.times.step, 7 * kSecond) << order;
    EXPECT_EQ(step.attribution.hidden_under_backward, 2 * kSecond);
  }
}

}  // namespace
}  // namespace steptime
