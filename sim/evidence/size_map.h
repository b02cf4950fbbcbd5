// Maps of a claims section: which of several ways to do a collective is the fastest, by size, and
// where one overtakes the other.
#pragma once
#include "sim/config/json.h"
#include "sim/core/limits.h"

#include <functional>
#include <string>
#include <vector>

namespace steptime {

/// From the size where the one before ends up to `to`, `fastest` takes the least time.
struct SizeSpan {
  std::string fastest;
  double to = 0;  ///< exclusive; of the last one the end of the map, which it includes
};

/// The spans of `names` from size `from` to size `to`, when `times(size)` gives a time for each
/// name. Ties go to the name that stands first. Sizes are looked at a factor of 2 apart, and each
/// change of the fastest is narrowed down to a thousandth; two changes between neighbours that
/// cancel each other are not seen.
std::vector<SizeSpan> fastest_by_size(const std::vector<std::string>& names, double from, double to,
                                      const std::function<std::vector<double>(double)>& times);

struct SizeMap {
  std::string id;
  std::string paper;
  std::string quantity;
  std::string unit;    ///< unit of the sizes
  std::string config;  ///< the experiment's file, relative to the data folder
  std::string where;   ///< in the source
  std::string note;
  struct Row {
    std::string label;
    std::vector<SizeSpan> spans;
  };
  std::vector<Row> rows;

  Json json() const;
};

/// A paragraph for each map, a line for each of its rows: "nccl to 1.2M, tree".
std::string size_maps_text(const std::vector<SizeMap>& maps);

}  // namespace steptime
