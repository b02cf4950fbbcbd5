// How workers differ in speed.
#pragma once
#include "sim/config/config.h"
#include "sim/core/units.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// A GPU, or all of a node, with a speed of its own.
struct GpuSpeed {
  std::int64_t node = 0;            ///< the first one is 0
  std::optional<std::int64_t> gpu;  ///< the node's number of it; none: all of them
  double speed = 1;                 ///< over that of the others
};

/// Factors on compute times, 1 + sd * z with z about normal, at least 0.1.
struct Variation {
  double spread = 0;           ///< sd between workers, for the whole run
  double jitter = 0;           ///< sd from step to step
  double straggle_chance = 0;  ///< per worker and step, of taking straggle_factor times as long
  double straggle_factor = 1;
  double slow_chance = 0;  ///< per worker, of computing at slow_speed for the whole run
  double slow_speed = 1;
  std::vector<GpuSpeed> gpus{};    ///< known by name; the speeds of one GPU multiply
  std::int64_t gpus_per_node = 1;  ///< by which `gpus` is told
  /// Runs, with the seeds s, s + 1, ...: what is told of a run are means over them.
  std::int64_t seeds = 1;

  bool any() const {
    return spread > 0 || jitter > 0 || straggle_chance > 0 || slow_chance > 0 || !gpus.empty();
  }
  /// Workers change their speed from step to step.
  bool changes() const { return jitter > 0 || straggle_chance > 0; }
  /// Of a worker in a step.
  double factor(std::int64_t seed, std::int64_t worker, std::int64_t step) const;
  /// Expected of the slowest of so many workers in a step, about: each waits for all others.
  double of_slowest(std::int64_t workers) const;
  /// No factor is larger.
  double most() const;
};

/// Steps from `first` on, before `last`, after every `period` of which workers wait for each other.
struct MeetingSteps {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t period = 1;
};

/// What the slowest of so many workers computes from one meeting to the next, added up: what these
/// steps would take if nothing but compute took time. `of`: of a worker in a step.
template <class Of>
Duration computed_by_slowest(const MeetingSteps& steps, std::int64_t workers, Of of) {
  Duration sum{};
  for (std::int64_t begin = steps.first; begin < steps.last; begin += steps.period) {
    Duration longest{};
    for (std::int64_t worker = 0; worker < workers; ++worker) {
      Duration own{};
      for (auto step = begin; step < std::min(begin + steps.period, steps.last); ++step)
        own += of(worker, step);
      longest = std::max(longest, own);
    }
    sum += longest;
  }
  return sum;
}

/// "variation" of the `run` section: an object, or the name of a preset.
Variation read_variation(const Config& run);
const Params& variation_params();
std::vector<std::string> variation_presets();

}  // namespace steptime
