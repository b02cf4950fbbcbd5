#include "sim/command/escaping_output.h"

#include <ostream>
#include <sstream>
#include <streambuf>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(EscapingOutput, EscapesUntilItIsDataAndLeavesTheStreamAsItWas) {
  std::ostringstream out;
  {
    const EscapingOutput escaping(out);
    out << "a\x1b" << '\x1b' << 7 << "\n";
    EscapingOutput::write_raw(out, "\r");
    EscapingOutput::is_data(out);
    out << "\u202e";
    out.setstate(std::ios::failbit);
  }
  EXPECT_EQ(out.str(), "a\\u001b\\u001b7\n\r\u202e");
  EXPECT_TRUE(out.fail());
  out.clear();
  out << "\x1b";
  EscapingOutput::is_data(out);  // of a stream that escapes nothing
  EscapingOutput::write_raw(out, "\x1b");
  EXPECT_EQ(out.str(), "a\\u001b\\u001b7\n\r\u202e\x1b\x1b");
}

/// A full disk: std::streambuf takes no character.
class Full : public std::streambuf {};

TEST(EscapingOutput, AnOutputThatFailsIsHeard) {
  Full full;
  std::ostream out(&full);
  const EscapingOutput escaping(out);
  out << "text";
  EXPECT_TRUE(out.bad());
}

}  // namespace
}  // namespace steptime
