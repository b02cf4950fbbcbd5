// Random numbers by counter: the n-th number of a named stream is a function of (seed, stream, n),
// so that it does not depend on who asked first, on threads, or on the compiler. The distributions
// are this file's own, with additions and products only.
#pragma once
#include <Random123/philox.h>
#include <cstdint>
#include <string_view>

namespace steptime {

/// What a number is drawn for; a stream is a purpose and an index (of a worker, an epoch, ...).
enum class Purpose : std::uint32_t {
  kWorkerSpeed,
  kStepTime,
  kStraggler,
  kOrder,
  kWeights,
  kProblem
};

/// Uniform in [0, 1), a multiple of 2^-53.
inline double uniform(std::int64_t seed, Purpose purpose, std::uint32_t index, std::uint32_t n) {
  const auto bits = static_cast<std::uint64_t>(seed);
  const r123::Philox4x32::ctr_type counter{{n, index, static_cast<std::uint32_t>(purpose), 0}};
  const r123::Philox4x32::key_type key{
      {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)}};
  const auto drawn = r123::Philox4x32{}(counter, key);
  const std::uint64_t word = static_cast<std::uint64_t>(drawn[1]) << 32 | drawn[0];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

/// About standard normal: the sum of 12 uniforms less 6 (mean 0, variance 1, within +-6).
inline double normal(std::int64_t seed, Purpose purpose, std::uint32_t index, std::uint32_t n) {
  double sum = -6;
  for (std::uint32_t i = 0; i < 12; ++i)
    sum += uniform(seed, purpose, index, 12 * n + i);
  return sum;
}

/// A named stream whose numbers have a place of three coordinates (rank, step, layer, ...).
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
