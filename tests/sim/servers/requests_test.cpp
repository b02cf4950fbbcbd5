#include "sim/servers/requests.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// A push, its answer, a request and the values; where both are one, a push and the values.
TEST(Requests, AreKnownByTheirNames) {
  for (const char* name : {"push-pull", "pushpull", "early-pull", "next-step"}) {
    const Requests& requests = requests_named(name);
    EXPECT_EQ(requests.name, name);
    EXPECT_EQ(requests.trips, requests.name == "pushpull" ? 2 : 4) << name;
    EXPECT_EQ(requests.brings_values, requests.name != "next-step") << name;
  }
}

}  // namespace
}  // namespace steptime
