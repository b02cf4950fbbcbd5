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

TEST(Words, OfOtherProgramsAreAnsweredWithTheNameHere) {
  EXPECT_EQ(unknown_word("fp16", kKnown),
            "unknown \"fp16\" (did you mean \"float16\"?); known: float32, float16, csv");
  // One name stands for several things; it is answered with what can be chosen at the place.
  const std::vector<std::string> schedules{"fixed-buckets", "wfbp"};
  EXPECT_EQ(unknown_word("DDP", schedules),
            "unknown \"DDP\" (did you mean \"fixed-buckets\"?); known: fixed-buckets, wfbp");
  const std::vector<std::string> transports{"mpi", "nccl"};
  EXPECT_EQ(unknown_word("DDP", transports),
            "unknown \"DDP\" (did you mean \"nccl\"?); known: mpi, nccl");
  EXPECT_EQ(unknown_word("dist_device_sync", std::vector<std::string>{"device", "local"}),
            "unknown \"dist_device_sync\" (did you mean \"device\"?); known: device, local");
  EXPECT_EQ(unknown_word("bf16", kKnown), "unknown \"bf16\"; known: float32, float16, csv");
}

TEST(Words, WithMoreBehindAHyphenAreGuessedToo) {
  const std::vector<std::string> orders{"interleaved", "zb-h1"};
  EXPECT_EQ(
      unknown_word("interleaved-1f1b", orders),
      "unknown \"interleaved-1f1b\" (did you mean \"interleaved\"?); known: interleaved, zb-h1");
  // A typo is nearer.
  const std::vector<std::string> states{"zero", "zero-redundancy"};
  EXPECT_EQ(unknown_word("zero-redundanc", states),
            "unknown \"zero-redundanc\" (did you mean \"zero-redundancy\"?); known: zero, "
            "zero-redundancy");
  EXPECT_EQ(unknown_word("interleavedness", orders),
            "unknown \"interleavedness\"; known: interleaved, zb-h1");
}

TEST(Words, OfVeryManyOnlyThoseAlikeArePrinted) {
  std::vector<std::string> known{"a/resnet50", "resnet152"};
  for (int i = 0; i < 40; ++i)
    known.push_back("x" + std::to_string(i));
  EXPECT_EQ(unknown_word("Resnet15", known),
            "unknown \"Resnet15\" (did you mean \"resnet152\"?); known: a/resnet50, resnet152 and "
            "others, 42 names; steptime list prints all");
  EXPECT_EQ(unknown_word("vgg", known),
            "unknown \"vgg\"; known: 42 names; steptime list prints all");
}

TEST(Words, ThatATerminalCanShow) {
  EXPECT_TRUE(is_printable("V100, 16 GB; \xc3\xbc"));
  for (const char* odd : {"", "a\nb", "\x1b[31m", "\x7f"})
    EXPECT_FALSE(is_printable(odd)) << odd;
}

TEST(Words, AreCheckedForAnOption) {
  check_word("--x", "csv", kKnown);
  EXPECT_EQ(message_of<InputError>([] { check_word("--x", "floot16", kKnown); }),
            "--x: unknown \"floot16\" (did you mean \"float16\"?); known: float32, float16, csv");
}

}  // namespace
}  // namespace steptime
