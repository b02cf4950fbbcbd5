// Results of a sweep, made by hand.
#pragma once
#include "sim/evidence/comparison.h"

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {

/// Of 64 workers in 2 / 0.25 = 8 replicas; the interval is from 10 % less to 20 % more.
inline ResultRow swept_row(const Json& params, double step_s, const std::string& file = "") {
  return {params.dump(), "",
          Json{{"params", params},
               {"step_time_s", step_s},
               {"step_time_interval_s", {step_s * 0.9, step_s * 1.2}},
               {"speedup", 2},
               {"scaling_efficiency", 0.25},
               {"workers", 64}},
          file};
}

inline ResultRow failed_row(const Json& params, const std::string& error) {
  return {params.dump(), "", Json{{"params", params}, {"error", error}}};
}

/// Batches from 1 to x, capacities from 1 MiB to y MiB, aggregations t0 to z - 1.
inline std::vector<ResultRow> swept_grid(int x, int y, int z = 1) {
  std::vector<ResultRow> rows;
  for (int i = 0; i < x; ++i) {
    for (int j = 0; j < y; ++j) {
      for (int k = 0; k < z; ++k) {
        rows.push_back(swept_row(Json{{"/workload/batch", i + 1},
                                      {"/strategy/schedule/capacity", fmt::format("{} MiB", j + 1)},
                                      {"/strategy/aggregation/type", fmt::format("t{}", k)}},
                                 0.1 + 0.01 * i + 0.001 * j));
      }
    }
  }
  return rows;
}

/// How often `part` stands in the text.
inline std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace steptime
