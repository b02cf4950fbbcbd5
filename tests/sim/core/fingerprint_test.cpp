#include "sim/core/fingerprint.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// FNV-1a: (hash ^ word) * prime modulo 2^64, here with the high half folded onto the low one. For
// hash = 0 and word = 1 the product is the prime itself, 2^40 + 0x1b3; its high half is 2^8 =
// 0x100, and 0x1b3 ^ 0x100 = 0x0b3.
static_assert(mix(0, 1) == 0x100000000b3);
// hash ^ word = 0 leaves nothing to multiply.
static_assert(mix(kFingerprintSeed, kFingerprintSeed) == 0);

TEST(Fingerprint, DependsOnEveryBitOfAWord) {
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE(mix(kFingerprintSeed, 0), mix(kFingerprintSeed, std::uint64_t{1} << bit)) << bit;
  }
}

TEST(Fingerprint, HighBitsReachTheLowHalf) {
  // Two trajectories that differ by 2^63 ps only must not differ in the top bit alone: the next
  // word could undo it.
  const std::uint64_t difference = mix(kFingerprintSeed, 0) ^ mix(kFingerprintSeed, 1ULL << 63);
  EXPECT_NE(difference & 0xffffffff, 0U);
}

TEST(Fingerprint, DependsOnTheOrderOfWords) {
  EXPECT_NE(mix(mix(kFingerprintSeed, 1), 2), mix(mix(kFingerprintSeed, 2), 1));
}

}  // namespace
}  // namespace steptime
