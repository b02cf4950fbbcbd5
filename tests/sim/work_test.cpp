#include "sim/work.h"

#include "sim/error.h"
#include "tests/support/messages.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Work, WhatFitsIsAllowed) {
  EXPECT_NO_THROW(check_events(1e10, "/run", "messages", "try less"));
  EXPECT_NO_THROW(check_links(1e8));
}

TEST(Work, WhatDoesNotIsRefusedInOneLine) {
  EXPECT_EQ(message_of<PlacedError>([] { check_events(1.6e12, "/run/fidelity", "messages", "-"); }),
            "/run/fidelity: about 2e+12 messages to play, at most 1e+10; -");
  EXPECT_EQ(message_of<PlacedError>([] { check_links(2.1e9); }),
            "/cluster: message fidelity holds 1e+08 links at most, and this machine has about "
            "2e+09");
}

}  // namespace
}  // namespace steptime
