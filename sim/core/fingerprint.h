// FNV-1a over 64-bit words: the hash of a trajectory, equal for equal results on any machine.
#pragma once
#include <cstdint>

namespace steptime {

inline constexpr std::uint64_t kFingerprintSeed = 0xcbf29ce484222325;

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x100000001b3;
  return hash ^ (hash >> 32);  // words differ in their high bits too, which a product never lowers
}

}  // namespace steptime
