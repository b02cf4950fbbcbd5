// What would have to be different for a step to take as long as it was measured to: each quantity
// of the experiment by itself, times what the simulation needs to come out there.
#pragma once
#include "sim/config/json.h"
#include "sim/experiment/track_record.h"

#include <functional>
#include <string>
#include <vector>

namespace steptime {

struct LikelyCause {
  /// Where the quantity stands; "*" where all elements of a list change together.
  std::string pointer;
  std::string value;   ///< the value that the config has there; "none": the config leaves it out
  std::string needed;  ///< with which the step takes what was measured
  /// By how much the quantity differs; of what the config leaves out, by how much the step does.
  double factor = 1;
};

struct MeasuredStep {
  double seconds = 0;
  /// The three that have to change least, in logarithms: the least first.
  std::vector<LikelyCause> causes;
  bool is_plan_held = false;  ///< the messages are those that were planned for the config's values

  /// `predicted`, in s: with its interval.
  std::string text(double predicted, Interval interval) const;
  Json json() const;
};

/// Something that may be another number than the config says, or that the config leaves out.
struct Suspect {
  std::string pointer;
  std::string value;
  double elasticity = 0;  ///< what 1 % more of it does to the step, about, %
  std::function<Json(double factor)> with;
  std::function<std::string(double factor)> text;
};

/// `predicted`: the step in s. `time_of` simulates a config; it throws InputError for one that
/// cannot be, and is called from any thread. Suspects with which the step comes to no more or less
/// than is measured, up to a factor of 1,000, and those that step over it in a jump are left out.
std::vector<LikelyCause> likely_causes(const std::vector<Suspect>& suspects, double predicted,
                                       double measured,
                                       const std::function<double(const Json& config)>& time_of);

}  // namespace steptime
