#include "sim/config/words.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::vector<std::string> kKnown{"float32", "float16", "csv"};

TEST(Words, AreGuessedWithinTwoEdits) {
  EXPECT_EQ(unknown_word("flaot32", kKnown),
            "unknown \"flaot32\" (did you mean \"float32\"?); known: float32, float16, csv");
  EXPECT_EQ(unknown_word("CSV", kKnown),
            "unknown \"CSV\" (did you mean \"csv\"?); known: float32, float16, csv");
  EXPECT_EQ(unknown_word("int8", kKnown), "unknown \"int8\"; known: float32, float16, csv");
  EXPECT_EQ(unknown_word("svg", kKnown), "unknown \"svg\"; known: float32, float16, csv");
}

TEST(Words, AreCheckedForAnOption) {
  check_word("--x", "csv", kKnown);
  EXPECT_EQ(message_of<InputError>([] { check_word("--x", "floot16", kKnown); }),
            "--x: unknown \"floot16\" (did you mean \"float16\"?); known: float32, float16, csv");
}

}  // namespace
}  // namespace steptime
