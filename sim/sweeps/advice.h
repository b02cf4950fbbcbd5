// What `advise` found: for people and for programs.
//
// A gain is one where it is larger than the difference between the intervals:
//   ln(step / shorter step) > |w' - w|,   w = ln(high / low) / 2
// since what both intervals have in common is off for both steps alike.
#pragma once
#include "sim/config/json.h"
#include "sim/experiment/track_record.h"

#include <cstddef>
#include <string>
#include <vector>

namespace steptime {

/// The best that one system can do.
struct Advised {
  std::string system;    ///< "PyTorch DDP", "Horovod", ...
  std::string carried;   ///< the collective, or the servers, that gradients go through
  std::string schedule;  ///< its name and settings, short
  std::string paste;     ///< what to write in that system
  Json strategy;         ///< the values to set: JSON pointer to value
  double step_time_s = 0;
  Interval interval_s{};
  Validity domain;
};

/// Settings that were not simulated.
struct Untried {
  std::string system;
  std::string carried;  ///< what its gradients would go through
  std::size_t settings = 0;
  std::string reason;
};

struct Advice {
  std::string name;
  double step_time_s = 0;  ///< as the config has it
  Interval interval_s{};
  std::size_t tried = 0;      ///< settings that were simulated
  std::vector<Advised> best;  ///< the best setting of each system, the shortest step first
  /// The best with numbers in fewer bytes, whose accuracy is not simulated.
  std::vector<Advised> narrower;
  std::vector<Untried> left_out;
  bool is_partial =
      false;  ///< interrupted; then figures are of analytic fidelity, without intervals

  /// Whether a step is shorter than the config's by more than the difference of their intervals.
  bool is_gain(const Advised& advised) const;
  std::string text() const;
  Json json() const;
};

}  // namespace steptime
