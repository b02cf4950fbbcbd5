// What most of several values do not exceed.
#pragma once
#include <vector>

namespace steptime {

/// The least of the values that 50, 95, 99 % of them do not exceed.
struct Percentiles {
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
};

/// Of one value at least.
Percentiles percentiles_of(std::vector<double> values);

}  // namespace steptime
