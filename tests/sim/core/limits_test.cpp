#include "sim/core/limits.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Work, WhatFitsIsAllowed) {
  EXPECT_NO_THROW(check_events(1e10, "/run", "messages", "try less"));
  EXPECT_NO_THROW(check_links(1e8));
  EXPECT_NO_THROW(check_bars(1e7));
}

TEST(Work, WhatDoesNotIsRefusedInOneLine) {
  EXPECT_EQ(message_of<PlacedError>([] { check_events(1.6e12, "/run/fidelity", "messages", "-"); }),
            "/run/fidelity: about 2e+12 messages to play, at most 1e+10; -");
  EXPECT_EQ(message_of<PlacedError>([] { check_links(2.1e9); }),
            "/cluster: message fidelity holds 1e+08 links at most, and this machine has about "
            "2e+09");
  EXPECT_EQ(
      message_of<PlacedError>([] { check_bars(3.4e9); }),
      "/run/steps: about 3e+09 bars in a timeline, at most 1e+07; fewer steps or workers have "
      "fewer");
}

}  // namespace
}  // namespace steptime
