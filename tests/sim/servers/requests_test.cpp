#include "sim/servers/requests.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// A push, its answer, a request and the values; where both are one, a push and the values.
TEST(Requests, AreKnownByTheirNames) {
  for (const auto& [name, requests] :
       {std::pair{"push-pull", &push_then_pull()}, std::pair{"pushpull", &one_request()},
        std::pair{"early-pull", &early_pull()}, std::pair{"next-step", &pull_in_next_step()}}) {
    EXPECT_EQ(&requests_named(name), requests);
    EXPECT_EQ(requests->trips(), requests == &one_request() ? 2 : 4) << name;
    EXPECT_EQ(requests->brings_values(), requests != &pull_in_next_step()) << name;
  }
}

}  // namespace
}  // namespace steptime
