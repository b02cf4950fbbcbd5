#include "sim/core/percentiles.h"

#include "sim/core/error.h"

#include <algorithm>
#include <cstddef>

namespace steptime {

Percentiles percentiles_of(std::vector<double> values) {
  STEPTIME_CHECK(!values.empty(), "percentiles of nothing");
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t percent) {
    return values[(values.size() * percent + 99) / 100 - 1];  // rounded up
  };
  return {at(50), at(95), at(99)};
}

}  // namespace steptime
