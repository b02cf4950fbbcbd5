// A row of the record of published steps, and what differing in an attribute costs
// (sim/experiment/track_record.h).
#pragma once
#include "sim/experiment/kind_of_step.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

/// A published step beside its prediction.
struct RecordRow {
  std::string id;
  std::string testbed;
  KindOfStep kind;
  std::int64_t workers = 1;
  std::int64_t gpus_per_node = 1;
  std::int64_t samples = 1;
  double latency_us = 0;
  double share = 0;      ///< share of the step that the network is busy for
  double error_pct = 0;  ///< published over simulated step, - 100 %
  /// The same over the nearest end of what the network's range explains; 0 inside.
  double unexplained_pct = 0;

  double log_error() const;  ///< the logarithm of the part of the error that nothing explains
};

/// What differing in an attribute costs.
struct AttributeSpread {
  double d = 0;  ///< the distance d of the header's formula
  /// The testbeds that tell it; none: the largest other d.
  std::vector<std::string> testbeds{};
  bool is_between_testbeds = false;
};

}  // namespace steptime
