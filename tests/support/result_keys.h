// The keys of a result, in the order in which the program prints them.
#pragma once
#include "sim/config/json.h"

#include <string>
#include <vector>

namespace steptime {

inline std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, unused] : json.items())
    keys.push_back(key);
  return keys;
}

/// The figures that every result has, with those before and after them.
inline std::vector<std::string> around_figures(std::vector<std::string> before,
                                               const std::vector<std::string>& after) {
  for (const char* figure :
       {"step_time_s", "compute_time_s", "forward_time_s", "backward_time_s", "comm_busy_s",
        "exposed_comm_s", "throughput_samples_per_s", "step_time_interval_s",
        "throughput_interval_samples_per_s", "interval_from", "speedup", "scaling_efficiency",
        "workers", "messages"})
    before.emplace_back(figure);
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

}  // namespace steptime
