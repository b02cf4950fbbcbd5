#include "sim/core/escaped.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Escaped, ControlCharactersAndThoseOfDirection) {
  EXPECT_EQ(escaped("a\x1b[31mb\r\x7f"), "a\\u001b[31mb\\u000d\\u007f");
  EXPECT_EQ(escaped("\u009b31m"), "\\u009b31m");
  EXPECT_EQ(escaped("gpu\u202etxt\u202c \u2066x\u2069 \u200e\u200f\u061c\u2028"),
            "gpu\\u202etxt\\u202c \\u2066x\\u2069 \\u200e\\u200f\\u061c\\u2028");
}

TEST(Escaped, OtherTextStaysAsItIs) {
  // U+00A0 and U+0627 next to what is escaped, and characters of three and four bytes.
  for (const char* text : {"", "two\nlines\tof text", "\u00a0\u0627\u00fc", "\u20ac \u2014 \u65e5",
                           "\U0001f600", "\xff\xe2\x80", "\xe2\x80\xbf"})
    EXPECT_EQ(escaped(text), text);
}

}  // namespace
}  // namespace steptime
