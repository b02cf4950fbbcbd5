#include "sim/config/list_index.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// RFC 6901, section 4: array-index = "0" / ( %x31-39 0*(%x30-39) ).
TEST(ListIndex, HasNoLeadingZero) {
  EXPECT_EQ(list_index("0"), 0U);
  EXPECT_EQ(list_index("10"), 10U);
  for (const char* key :
       {"", "01", "00", "-0", "+1", " 1", "1 ", "1.0", "-", "a", "99999999999999999999"})
    EXPECT_FALSE(list_index(key)) << key;
}

}  // namespace
}  // namespace steptime
