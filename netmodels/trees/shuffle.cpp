#include "netmodels/trees/shuffle.h"

#include <cstddef>
#include <utility>

namespace steptime {

std::uint32_t bounded_draw(std::mt19937& random, std::uint32_t range) {
  // The upper half of a 64-bit product; a lower half below 2^32 mod range would favour some values.
  std::uint64_t product = std::uint64_t{random()} * range;
  if (static_cast<std::uint32_t>(product) < range) {
    const std::uint32_t unfair = (0 - range) % range;
    while (static_cast<std::uint32_t>(product) < unfair)
      product = std::uint64_t{random()} * range;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

void shuffle(std::vector<std::int32_t>& list, std::mt19937& random) {
  const auto size = static_cast<std::uint32_t>(list.size());
  std::uint32_t i = 1;
  // Positions 1 to size - 1 in pairs; when their number is odd, the first by itself.
  if (size % 2 == 0 && size > 0) {
    std::swap(list[i], list[bounded_draw(random, 2)]);
    ++i;
  }
  for (; i < size; i += 2) {
    const std::uint32_t both = bounded_draw(random, (i + 1) * (i + 2));
    std::swap(list[i], list[both / (i + 2)]);
    std::swap(list[i + 1], list[both % (i + 2)]);
  }
}

}  // namespace steptime
