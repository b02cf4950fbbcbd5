// Counter-based random numbers (Philox4x32-10): a number depends on the seed, the stream's name and
// its place in the stream only, so the order in which numbers are drawn changes nothing.
#pragma once
#include <Random123/philox.h>
#include <cstdint>
#include <string_view>

namespace steptime {

class RandomStream {
 public:
  constexpr RandomStream(std::int64_t seed, std::string_view stream)
      : seed_(static_cast<std::uint64_t>(seed)) {
    for (const char c : stream)  // FNV-1a
      stream_ = (stream_ ^ static_cast<unsigned char>(c)) * 0x01000193;
  }

  /// Uniform on [0, 1), in steps of 2^-53.
  double uniform(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const auto low = static_cast<std::uint32_t>(seed_);
    const auto high = static_cast<std::uint32_t>(seed_ >> 32);
    const r123::Philox4x32::ctr_type drawn =
        r123::Philox4x32()({{a, b, c, stream_}}, {{low, high}});
    const std::uint64_t bits = (static_cast<std::uint64_t>(drawn[0]) << 32 | drawn[1]) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
  }

 private:
  std::uint64_t seed_;
  std::uint32_t stream_ = 0x811c9dc5;
};

}  // namespace steptime
