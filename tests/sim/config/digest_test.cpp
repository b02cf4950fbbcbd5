#include "sim/config/digest.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// FIPS 180-2, appendix A.1 and A.3, and the empty text.
TEST(Digest, IsSha1) {
  EXPECT_EQ(sha1_of("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_of(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_of(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

// The check value of CRC-32/ISO-HDLC is that of "123456789".
TEST(Checksum, IsCrc32AndGoesOn) {
  EXPECT_EQ(crc32_of("123456789"), 0xcbf43926U);
  EXPECT_EQ(crc32_of("6789", crc32_of("12345")), crc32_of("123456789"));
}

}  // namespace
}  // namespace steptime
