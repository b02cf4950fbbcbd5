// std::shuffle and the bounded draw of libstdc++, so that trees whose ties are broken by chance are
// the same on every standard library. The generator itself is fixed by the C++ standard.
//
// Scope: lists of fewer than 2^16. Source: libstdc++ 11 and later, bits/uniform_int_dist.h (Lemire,
// "Fast random integer generation in an interval", ACM TOMACS 29, 2019) and bits/stl_algo.h, where
// one draw serves two positions.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

namespace steptime {

/// Evenly from 0 to range - 1.
std::uint32_t bounded_draw(std::mt19937& random, std::uint32_t range);

void shuffle(std::vector<std::int32_t>& list, std::mt19937& random);

}  // namespace steptime
