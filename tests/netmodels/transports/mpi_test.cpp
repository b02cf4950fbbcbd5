#include "sim/core/error.h"
#include "sim/servers/transport.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Mpi, HasOneCollectiveUnderWayUnlessToldOtherwise) {
  EXPECT_EQ(make<Transport>(R"({"type": "mpi"})")->streams, 1);
  EXPECT_EQ(make<Transport>(R"({"type": "mpi", "streams": 4})")->streams, 4);
}

TEST(Mpi, NoneIsTooFew) {
  EXPECT_EQ(message_of<InputError>([] { make<Transport>(R"({"type": "mpi", "streams": 0})"); }),
            "x.json: /transport/streams: must be at least 1 and at most 1000000, got 0");
}

}  // namespace
}  // namespace steptime
