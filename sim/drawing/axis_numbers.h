// Numbers and quantities on an axis: round places, and one way of writing all of them.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// A unit with its prefixes, from the smallest on.
struct AxisUnits {
  struct Prefixed {
    double factor;  ///< in the base unit: s, B, B/s, s/B, or a bare number
    std::string_view name;
  };
  std::vector<Prefixed> units;
  bool is_binary = false;  ///< the prefixes are powers of 1024
};

/// k, M, G, T, without a unit.
const AxisUnits& bare_numbers();
/// That of "Gbps", with all prefixes; null for a unit that has none, such as "h".
const AxisUnits* units_with(std::string_view unit);

/// Bare numbers, all alike: in full, or with a prefix each ("1", "10k", "2M"), or with an exponent.
std::vector<std::string> written_alike(std::span<const double> numbers);
/// Each with the greatest unit that it has one of ("500 us", "2 ms"); places in the base unit.
std::vector<std::string> written_alike(std::span<const double> places, const AxisUnits& units);

/// Round places from `low` to `high`, at most `most` of them and as many as possible: multiples of
/// 1, 2 or 5 of a power of ten; of a power of two where prefixes are binary.
std::vector<double> round_places(double low, double high, std::size_t most, const AxisUnits& units);
/// The same for a logarithm of the places: 1, 2, 5, 10, ... or powers of ten alone; powers of two
/// where prefixes are binary, and of bare numbers that are small and whole.
std::vector<double> round_powers(double low, double high, std::size_t most, const AxisUnits& units);

}  // namespace steptime
