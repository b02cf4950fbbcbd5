// From measurements to a profile: a preset of a cluster with fitted operations, their provenance
// and advice on what to measure next.
#pragma once
#include "sim/config/json.h"
#include "sim/evidence/curve_fit.h"
#include "sim/evidence/measured_rounds.h"

#include <map>
#include <string>
#include <vector>

namespace steptime {

struct FittedProfile {
  std::int64_t nodes = 1;
  Json provenance;
  MeasuredOperations operations;
  std::map<std::string, std::vector<NextSize>> advice;        ///< by operation
  std::map<std::string, HeldOut> held_out;                    ///< by operation
  std::map<std::string, std::vector<std::int64_t>> outliers;  ///< sizes, by operation

  /// The file. The cluster's latency and bandwidth are those of "ping-pong", or else what a ring
  /// would need for the all-reduce, or else those of a copy to a GPU; its reduction is that of
  /// "host-sum" or else of "GPU sum".
  Json json(const std::string& help) const;
  /// A line for each segment, for people.
  std::string text() const;
};

/// Throws InputError.
FittedProfile fit_profile(const MeasuredRounds& rounds, const FitOptions& options);

}  // namespace steptime
